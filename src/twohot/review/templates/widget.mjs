/* A review in the output of a notebook's cell: the page in a frame without an origin, which can reach
   neither the notebook nor its server. What the frame says is text, which Python checks. */

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Review of labels";
  frame.sandbox = "allow-scripts allow-downloads";
  Object.assign(frame.style, { display: "block", width: "100%", height: `${model.get("height")}px`, border: "0" });
  let last = null;   /* what came from this frame: it knows that already */
  const send = () => {
    const text = model.get("decisions");
    if (text !== last) frame.contentWindow?.postMessage(text, "*");
  };
  const receive = ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data !== "string") return;
    last = data;
    model.set("decisions", data);
    model.save_changes();
  };
  addEventListener("message", receive);
  model.on("change:decisions", send);
  frame.addEventListener("load", send);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    removeEventListener("message", receive);
    model.off("change:decisions", send);
  };
}

export default { render };

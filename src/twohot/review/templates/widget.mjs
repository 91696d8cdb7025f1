/* A review in the output of a notebook's cell: the page in a frame without an origin, which can
   access neither the notebook nor its server. It sends text, which Python checks. */

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = "Review of labels";
  frame.sandbox = "allow-scripts allow-downloads";
  Object.assign(frame.style, { display: "block", width: "100%", height: `${model.get("height")}px`, border: "0" });
  let last = null;   /* the last text from this frame, which is not sent back */
  const send = () => {
    const kept = model.get("kept");
    if (kept !== last) frame.contentWindow?.postMessage(kept, "*");
  };
  const receive = ({ source, data }) => {
    if (source !== frame.contentWindow || typeof data?.decisions !== "string" || !Array.isArray(data.kept)) return;
    last = data.kept;
    model.set("decisions", data.decisions);
    model.set("kept", data.kept);
    model.save_changes();
  };
  addEventListener("message", receive);
  model.on("change:kept", send);
  frame.addEventListener("load", send);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    removeEventListener("message", receive);
    model.off("change:kept", send);
  };
}

export default { render };

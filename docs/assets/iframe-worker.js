/* Browsers start no worker from a file:// page, and the search runs in one. Where the page comes from a file, this stands in for
   Worker: the worker's script runs in a hidden frame, and messages go to and fro. Pages from a server keep the browser's Worker. */
(function () {
  "use strict"
  if (location.protocol !== "file:") return
  class FrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.onmessage = null
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      const answer = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.postMessage = answer
      inside.importScripts = (...urls) => urls.reduce((before, each) => before.then(() => load(new URL(each, url))), Promise.resolve())
      const load = each => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script")
        script.src = each
        script.onload = resolve
        script.onerror = reject
        inside.document.body.append(script)
      })
      this.ready = load(url)
    }
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow
        const event = new inside.MessageEvent("message", { data })
        inside.dispatchEvent(event)
      })
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = FrameWorker
})()

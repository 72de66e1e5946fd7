/**
 * Takes the events of a response while it is made. A plain answer is made in the same way as a streamed one, and its
 * events go nowhere, so that the two cannot differ.
 */
export interface EventSink {
  /** `members`: all but `type` and `sequence_number`; at least one. */
  readonly event: (type: string, members: object) => void
  /** Opens a run of events that differ in `delta` alone. */
  readonly deltas: (type: string, members: object) => (delta: string) => void
}

export const noEvents: EventSink = { event: () => {}, deltas: () => () => {} }

/** Writes events as text. What a run of events has in common is serialised once. */
export class EventWriter implements EventSink {
  private text = ""
  private sequence = 0

  event(type: string, members: object): void {
    this.json(type, JSON.stringify(members).slice(1, -1))
  }

  /** `members`: JSON without the braces. */
  json(type: string, members: string): void {
    this.text += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.sequence++},${members}}\n\n`
  }

  deltas(type: string, members: object): (delta: string) => void {
    const head = `event: ${type}\ndata: {"type":"${type}",${JSON.stringify(members).slice(1, -1)},"sequence_number":`
    return (delta) => {
      this.text += `${head}${this.sequence++},"delta":${JSON.stringify(delta)}}\n\n`
    }
  }

  /** The text of the events since the last call. */
  take(): string {
    const { text } = this
    this.text = ""
    return text
  }
}

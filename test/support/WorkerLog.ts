/** What a gateway of several processes has logged, and waiting for it. */
import type { GatewayProcess } from "./GatewayProcess.ts"
import { type LogLine, parseLogLine } from "./LogLines.ts"

export class WorkerLog {
  private text = ""
  private readonly gateway: GatewayProcess
  private readonly looks = new Set<() => void>()

  constructor(gateway: GatewayProcess) {
    this.gateway = gateway
    for (const stream of [gateway.child.stdout, gateway.child.stderr])
      stream?.on("data", (bytes: Buffer) => {
        this.text += bytes.toString()
        for (const look of this.looks) look()
      })
  }

  /** The complete lines with this message, and of this worker if one is named. */
  lines(message: string, worker?: number): ReadonlyArray<LogLine> {
    return this.text
      .slice(0, this.text.lastIndexOf("\n") + 1)
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map(parseLogLine)
      .filter((line) => line.message === message)
      .filter(({ annotations }) => worker === undefined || annotations["worker"] === worker)
  }

  /** Resolves when there are so many of these lines; fails when the gateway ends before. */
  async has(message: string, count: number, worker?: number): Promise<ReadonlyArray<LogLine>> {
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (this.lines(message, worker).length < count) return
        this.looks.delete(look)
        resolve()
      }
      this.looks.add(look)
      void this.gateway.closed.then(() => {
        look()
        reject(new Error(`no "${message}" in ${this.text}`))
      })
      look()
    })
    return this.lines(message, worker)
  }

  /** Waits until this worker listens for the n-th time, and gives the id of its process. */
  async pidOf(worker: number, start = 1): Promise<number> {
    const lines = await this.has("A worker listens", start, worker)
    return Number(lines[start - 1]?.annotations["pid"])
  }
}

/** What the system knows of a process, from `/proc`: not a number where there is none, as outside Linux. */
import { readdirSync, readFileSync } from "node:fs"

const textOf = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

/** Clock ticks of the kernel per second, which is the same on every system that Node runs on. */
const ticksPerSecond = 100

/** Seconds of processor time that all threads of a process have used. */
export const cpuSecondsOf = (pid: number | undefined): number => {
  // The name of the program, which may have blanks, ends with the parenthesis.
  const fields = textOf(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Bytes of resident memory. */
export const residentBytesOf = (pid: number | undefined): number => {
  const kilobytes = /VmRSS:\s*(\d+) kB/.exec(textOf(`/proc/${pid}/status`))?.[1]
  return kilobytes === undefined ? Number.NaN : Number(kilobytes) * 1024
}

/** A process and all that it has started, for a peer whose command starts its server in another process. */
export const processTreeOf = (pid: number | undefined): ReadonlyArray<number> => {
  if (pid === undefined) return []
  const threads = (() => {
    try {
      return readdirSync(`/proc/${pid}/task`)
    } catch {
      return []
    }
  })()
  const children = threads.flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number)
  )
  return [pid, ...children.flatMap(processTreeOf)]
}

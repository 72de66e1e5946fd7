/** Whether a socket can be listened on, asked before anything else is opened or made. */
import { createServer } from "node:net"

import { Data, Effect } from "effect"

interface SocketAddress {
  readonly host: string
  readonly port: number
}

/** A socket that cannot be listened on. `message` names the variable to change. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/**
 * Fails if nothing can listen on the socket, before anything else is opened or made. The socket is free again
 * afterwards: the server takes it when everything else is ready.
 */
export const requireFreeSocket = ({ host, port }: SocketAddress) =>
  Effect.callback<void, ListenError>((resume) => {
    // A client that connects in this moment must not hold the start up: it sees what a closed port would show it.
    const probe = createServer((connection) => connection.resetAndDestroy())
    probe.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(new ListenError({ message: listenFault(error, host, port) })))
    )
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resume(Effect.void)))
  })

const listenFault = ({ code, message }: NodeJS.ErrnoException, host: string, port: number): string => {
  switch (code) {
    case "EADDRINUSE":
      return `PORT: ${port} on ${host} is in use. Stop the process that listens there, or set PORT to a free port`
    case "EACCES":
      return `PORT: this user may not listen on ${port}. Set PORT to 1024 or more`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `HOST: ${host} is no address of this machine. Set HOST to one, such as 127.0.0.1 or 0.0.0.0`
    default:
      return `PORT, HOST: cannot listen on ${host}:${port}: ${message}`
  }
}

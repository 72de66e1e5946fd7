/** The servers of the bench in processes of their own: `node BenchProcess.ts provider <port>`, `floor <port> <to>`. */
import process from "node:process"

import { serveBareProxy } from "./BareProxy.ts"
import { serveBenchProvider } from "./BenchProvider.ts"

const [role, port, to] = process.argv.slice(2)
if (role === "provider") await serveBenchProvider(Number(port))
else serveBareProxy(Number(port), Number(to))

/** The options of a node's link to its parent. Topologies, relays and agents use the same options. */
import * as z from 'zod';
import { BanyanError } from '../../runtime/errors.ts';
import { noProxyWord } from './proxy-choice.ts';
import { parseProxy } from './proxy-url.ts';

export const transports = ['auto', 'grpc', 'websocket'] as const;

export const linkOptionsSchema = z.strictObject({
  transport: z
    .enum(transports)
    .default('auto')
    .describe(
      'auto: gRPC, then WebSocket where gRPC does not get through. The transport that worked is tried first the next time.',
    ),
  proxy: z
    .string()
    .check((context) => {
      const flaw = proxyFlaw(context.value);
      if (flaw) context.issues.push({ code: 'custom', message: flaw, input: context.value });
    })
    .optional()
    .describe(
      'http://user:password@host:port or https://…, used by CONNECT. none: dial directly. Absent: HTTPS_PROXY and NO_PROXY of the environment.',
    ),
  terminatedTls: z
    .boolean()
    .default(false)
    .describe(
      'TLS ends at a load balancer or gateway on the way. Nodes prove their identity by signature, and the gateway can read everything that it passes.',
    ),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe(
      "PEM file of the authorities that the node trusts for an https proxy and for the gateway that terminates TLS. Absent: the system's authorities.",
    ),
});

export type LinkOptions = z.infer<typeof linkOptionsSchema>;

export const defaultLink: LinkOptions = linkOptionsSchema.parse({});

function proxyFlaw(proxy: string): string | undefined {
  if (proxy === noProxyWord) return undefined;
  try {
    parseProxy(proxy);
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError) return error.message;
    throw error;
  }
}

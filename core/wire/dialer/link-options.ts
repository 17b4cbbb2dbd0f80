/** What a configuration says of the link of a node to its parent; topology, relay and agent share it. */
import * as z from 'zod';
import { BanyanError } from '../../runtime/errors.ts';
import { noProxyWord } from './proxy-choice.ts';
import { parseProxy } from './proxy-url.ts';

export const transports = ['auto', 'grpc', 'websocket'] as const;

export const linkOptionsSchema = z.strictObject({
  transport: z
    .enum(transports)
    .default('auto')
    .describe('auto: gRPC, then WebSocket where that does not get through; what worked is tried first the next time.'),
  proxy: z
    .string()
    .check((context) => {
      const wrong = problemOf(context.value);
      if (wrong) context.issues.push({ code: 'custom', message: wrong, input: context.value });
    })
    .optional()
    .describe(
      'http://user:password@host:port or https://…, used by CONNECT; none: dial directly. Left out: HTTPS_PROXY and NO_PROXY of the environment.',
    ),
  terminatedTls: z
    .boolean()
    .default(false)
    .describe(
      'TLS ends at a load balancer or gateway on the way: identity is proven by signature, and it can read what goes through.',
    ),
  ca: z
    .string()
    .min(1)
    .optional()
    .describe(
      "PEM file of the authorities that are trusted for an https proxy and for who terminates TLS; the system's if left out.",
    ),
});

export type LinkOptions = z.infer<typeof linkOptionsSchema>;

export const defaultLink: LinkOptions = linkOptionsSchema.parse({});

function problemOf(proxy: string): string | undefined {
  if (proxy === noProxyWord) return undefined;
  try {
    parseProxy(proxy);
    return undefined;
  } catch (error) {
    if (error instanceof BanyanError) return error.message;
    throw error;
  }
}

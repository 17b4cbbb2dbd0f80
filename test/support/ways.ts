/** Ways to a parent, for tests that dial a parent without a node. */
import type { Clock } from '../../core/runtime/clock.ts';
import { type LinkOptions, linkOptionsSchema } from '../../core/wire/dialer/link-options.ts';
import { Way } from '../../core/wire/dialer/way.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

export interface TestWay {
  /** host:port */
  readonly address: string;
  readonly parentPath: string;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  readonly link?: Partial<LinkOptions>;
  readonly linkCaPem?: Buffer;
}

/** Makes the way. It ignores the environment of the test. */
export function wayTo({ address, parentPath, credentials, clock, link = {}, linkCaPem }: TestWay): Way {
  return new Way({
    parent: { address, path: parentPath },
    link: linkOptionsSchema.parse(link),
    environment: {},
    credentials,
    clock,
    ...(linkCaPem ? { linkCaPem } : {}),
  });
}

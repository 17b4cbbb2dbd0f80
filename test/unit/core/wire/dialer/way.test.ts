import dns from 'node:dns';
import { getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newJoinToken } from '../../../../../core/identity/join-token.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../../core/runtime/random.ts';
import { linkOptionsSchema } from '../../../../../core/wire/dialer/link-options.ts';
import { joinParent } from '../../../../../core/wire/join/join-client.ts';
import type { Joins } from '../../../../../core/wire/joins.ts';
import type { Listener } from '../../../../../core/wire/link.ts';
import { listenMesh } from '../../../../../core/wire/network/mesh-listener.ts';
import { webSocketDialer } from '../../../../../core/wire/websocket/websocket-dialer.ts';
import { connectProxy } from '../../../../support/connect-proxy.ts';
import { LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';
import { wayTo } from '../../../../support/ways.ts';

/** The first address answers, the last is dead. */
const addresses = [
  { address: '127.0.0.1', family: 4 },
  { address: '127.0.0.2', family: 4 },
];
const certificate = { authority: 'authority', certificate: 'certificate' };

function busyFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

const attemptMs = getDefaultAutoSelectFamilyAttemptTimeout();
let tree: TestTree;
let listener: Listener;
beforeEach(async () => {
  tree = await TestTree.create();
  const joins: Joins = {
    admit: () => {},
    authority: () => tree.authority.certPem,
    join: async () => certificate,
    renew: async () => certificate,
  };
  const credentials = await tree.credentials('eu', 'relay');
  const accept = () => new LinkLog();
  listener = await listenMesh({ host: '127.0.0.1', port: 0, credentials, accept, joins, log: silentLogger });
  // An answer is read 100 ms after the attempt has begun, after the least time that Node gives to an attempt: as on a line that is longer than Node's usual
  // time.
  setDefaultAutoSelectFamilyAttemptTimeout(10);
  vi.spyOn(dns, 'lookup').mockImplementation(((
    _host: string,
    _options: object,
    found: (...answer: unknown[]) => void,
  ) => {
    setImmediate(() => found(null, addresses));
    setImmediate(() => busyFor(100));
  }) as typeof dns.lookup);
});
afterEach(async () => {
  vi.restoreAllMocks();
  setDefaultAutoSelectFamilyAttemptTimeout(attemptMs);
  await listener[Symbol.asyncDispose]();
});

const named = (address: string) => address.replace('127.0.0.1', 'parent.test');

it('a parent is reached by WebSocket over a long line, though another address of its name is dead', async () => {
  const credentials = await tree.credentials('eu:kid', 'agent');
  const way = wayTo({ address: named(listener.address), parentPath: 'eu', credentials, clock: systemClock });
  const link = await webSocketDialer(way).dial(new LinkLog(), 10_000);
  link.close('enough');
});

it('a proxy is reached over a long line, though another address of its name is dead', async () => {
  const proxy = await connectProxy();
  const credentials = await tree.credentials('eu:kid', 'agent');
  const link = { proxy: named(proxy.url) };
  const way = wayTo({ address: listener.address, parentPath: 'eu', credentials, clock: systemClock, link });
  (await webSocketDialer(way).dial(new LinkLog(), 10_000)).close('enough');
  await proxy[Symbol.asyncDispose]();
});

it('a certificate is received over a long line, though another address of the parent is dead', async () => {
  const { pin } = newJoinToken(tree.authority.certPem, new SeededRandom(1));
  const parent = { address: named(listener.address), path: 'eu' };
  const line = { parent, link: linkOptionsSchema.parse({}), environment: {}, clock: systemClock };
  const asked = { name: 'aaaaaaaaaa', secret: 's', path: 'eu:kid', request: 'pem' };
  expect(await joinParent(line, pin, asked)).toEqual(certificate);
});

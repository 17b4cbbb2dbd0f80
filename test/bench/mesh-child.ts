/** A child without the parts of an agent or a relay: a store, its two feeds and the session with the parent, over real connections. */
import { FeedConsumer } from '../../core/feed/consumer.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { FeedProducer } from '../../core/feed/producer.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { silentLogger } from '../../core/runtime/logger.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { ChildSession } from '../../core/session/child-session.ts';
import { beginBoot } from '../../core/session/node-identity.ts';
import type { Store } from '../../core/store/store.ts';
import { grpcDialer } from '../../core/wire/grpc/grpc-dialer.ts';
import type { Dialer } from '../../core/wire/link.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';
import { wayTo } from '../support/ways.ts';

export interface MeshChildOptions {
  readonly store: Store;
  readonly path: string;
  readonly parent: { readonly address: string; readonly path: string };
  readonly credentials: NodeCredentials;
  /** After the commit, before it is durable. `outbox`: for reports about the changes. */
  committed(changes: readonly AppliedChange[], outbox: FeedProducer): void;
  /** Bytes from the parent, without those of TLS and of connections. */
  received?(bytes: number): void;
}

/** Resolves when the child is attached. */
export function attachChild(options: MeshChildOptions): Promise<ChildSession> {
  const { store, path, parent, credentials, committed, received } = options;
  const clock = systemClock;
  const random = systemRandom;
  const { identity, producer, consumer } = store.write((t) => {
    const boot = beginBoot(t, clock, random);
    const { bootNonce } = boot;
    return {
      identity: boot,
      producer: FeedProducer.open(t, { name: 'outbox', bootNonce, random }),
      consumer: FeedConsumer.open(t, { name: 'upstream' }),
    };
  });
  const dialer = grpcDialer(wayTo({ address: parent.address, parentPath: parent.path, credentials, clock }));
  return new Promise((resolve) => {
    const session: ChildSession = new ChildSession({
      store,
      clock,
      random,
      log: silentLogger,
      dialer: received ? metered(dialer, received) : dialer,
      identity,
      path,
      role: 'agent',
      software: 'bench',
      producer,
      consumer,
      applied() {},
      committed: (changes) => committed(changes, producer),
      connected: () => resolve(session),
      disconnected() {},
      caughtUp() {},
      ready: () => true,
    });
    session.start();
  });
}

function metered(dialer: Dialer, received: (bytes: number) => void): Dialer {
  return {
    dial: (events, timeoutMs) =>
      dialer.dial(
        {
          onFrame: (frame) => events.onFrame(frame),
          onBytes: (count) => {
            received(count);
            events.onBytes(count);
          },
          onDrain: () => events.onDrain(),
          onClose: (error) => events.onClose(error),
        },
        timeoutMs,
      ),
  };
}

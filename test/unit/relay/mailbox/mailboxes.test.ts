import { expect, it } from 'vitest';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { readSession, writeSession } from '../../../../core/session/handshake.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';

it('a removed child, also a replica, leaves nothing by which the next node of its name looks like a copy', () => {
  const store = new MemoryStore();
  const mailboxes = new Mailboxes(store, new SeededRandom(1), 'boot', 'eu');
  const record = { sessionSequence: 3, bootCounter: 2 ** 32, bootNonce: '07'.repeat(16), attachSequence: 0 };
  store.write((t) => {
    for (const child of ['paris', 'paris~1']) {
      mailboxes.ensure(t, child, 'relay');
      writeSession(t, `eu:${child}`, record);
    }
    mailboxes.drop(t, 'paris~1');
  });
  const counters = ['eu:paris', 'eu:paris~1'].map(
    (path) => store.read((reader) => readSession(reader, path))?.bootCounter,
  );
  expect(counters).toEqual([2 ** 32, 0]);
});

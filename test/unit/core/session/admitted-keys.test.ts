import { beforeEach, describe, expect, it } from 'vitest';
import { leafMs } from '../../../../core/identity/certificate-validity.ts';
import {
  admitJoined,
  admitKey,
  dismissKey,
  dismissRelayKey,
  dueRevocations,
  judgeKey,
  pruneKeys,
  replacesKey,
  revocationWritten,
} from '../../../../core/session/admitted-keys.ts';
import { readSession, writeSession } from '../../../../core/session/handshake.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const path = 'eu:till';

let store: MemoryStore;
beforeEach(() => {
  store = new MemoryStore();
});

const attach = (key: string, fromMs: number) => store.write((t) => admitKey(t, path, { key, fromMs }));
const join = (key: string, fromMs: number) => store.write((t) => admitJoined(t, path, { key, fromMs }));
const check = (key: string, fromMs: number) => store.read((reader) => replacesKey(reader, path, { key, fromMs }));

describe('the key of a child', () => {
  it('is admitted when the child comes for the first time', () => {
    attach('a', 100);
    attach('a', 100);
    check('a', 100);
  });

  it('stays while another certificate was only looked at', () => {
    attach('a', 100);
    expect(check('b', 200)).toBe(true);
    expect(check('a', 100)).toBe(false);
    attach('a', 100);
  });

  it('gives way to the key of a newer certificate, and never comes back', () => {
    attach('a', 100);
    attach('b', 200);
    for (const fromMs of [50, 100, 300]) expect(() => attach('a', fromMs)).toThrow('has another key now');
    attach('b', 200);
  });

  it('does not give way to an older certificate, or to one of the same time', () => {
    attach('a', 100);
    for (const fromMs of [50, 100]) {
      expect(() => attach('b', fromMs)).toThrow(
        /^"eu:till" has another key now, which was admitted with a newer certificate: if this is the right machine, make a new certificate for it .*join-token eu:till --again\)$/,
      );
    }
    attach('a', 100);
  });

  it('may get newer certificates', () => {
    attach('a', 100);
    attach('a', 300);
    expect(() => attach('b', 200)).toThrow('newer certificate');
  });

  it('gives way to the key of an agent that joins, whatever the times are', () => {
    attach('a', 900);
    expect(join('b', 100)).toBe(true);
    expect(() => attach('a', 900)).toThrow('has another key now');
    attach('b', 950);
    expect(join('b', 100)).toBe(false);
  });

  it('of a relay leaves a Revocation due when the relay is removed, until it is written', () => {
    const due = () => store.read((reader) => dueRevocations(reader));
    const dismiss = () => store.write((t) => dismissRelayKey(t, path, 500));
    expect([dismiss(), due()]).toEqual([false, []]);
    attach('a', 100);
    join('b', 200);
    expect([dismiss(), due()]).toEqual([true, [{ path, atMs: 500 }]]);
    expect(dismiss()).toBe(false);
    expect(() => attach('b', 200)).toThrow('was removed here');
    store.write((t) => revocationWritten(t, path));
    expect(due()).toEqual([]);
    expect(() => attach('b', 200)).toThrow('was removed here');
  });

  it('is refused after the child was removed, also if the child is made again', () => {
    attach('a', 100);
    store.write((t) => dismissKey(t, path));
    expect(() => attach('a', 100)).toThrow('was removed here, and the key of its certificate is not admitted again');
    expect(() => check('a', 100)).toThrow('was removed here');
    attach('b', 200);
    expect(() => attach('a', 300)).toThrow('has another key now');
  });

  it('of a removed child is admitted again if the agent joins with this key', () => {
    attach('a', 100);
    store.write((t) => dismissKey(t, path));
    expect(join('a', 200)).toBe(false);
    attach('a', 200);
  });

  it('of a removed child is remembered as long as a certificate may be valid', () => {
    attach('a', 100);
    store.write((t) => dismissKey(t, path));
    store.write((t) => pruneKeys(t, 100 + 2 * leafMs));
    expect(() => attach('a', 100)).toThrow('was removed here');
    store.write((t) => pruneKeys(t, 101 + 2 * leafMs));
    attach('a', 100);
  });

  it('of a present child is never forgotten', () => {
    attach('a', 100);
    store.write((t) => pruneKeys(t, 1e15));
    expect(() => attach('b', 50)).toThrow('newer certificate');
  });

  it.each([
    ['joins', () => join('b', 900)],
    [
      'comes with a newer certificate',
      () => {
        const isOther = check('b', 900);
        attach('b', 900);
        return isOther;
      },
    ],
  ])('of a machine that %s makes the starts of the earlier machine void', (_how, come) => {
    const record = { sessionSequence: 7, bootCounter: 5, bootNonce: 'aa', attachSequence: 3 };
    attach('a', 100);
    store.write((t) => writeSession(t, path, record));
    attach('a', 100);
    expect(store.read((reader) => readSession(reader, path))).toEqual(record);
    expect(come()).toBe(true);
    expect(store.read((reader) => readSession(reader, path))).toEqual({
      sessionSequence: 7,
      bootCounter: 0,
      bootNonce: '',
      attachSequence: 0,
    });
  });

  it('is a matter of each child', () => {
    attach('a', 100);
    store.write((t) => admitKey(t, 'eu:other', { key: 'b', fromMs: 50 }));
    store.write((t) => dismissKey(t, 'eu:nobody'));
  });
});

it('a record names a bounded number of former keys', () => {
  let known = judgeKey(undefined, { key: 'k0', fromMs: 0 });
  for (let i = 1; i < 40; i++) {
    known = judgeKey('admitted' in known ? known.admitted : undefined, { key: `k${i}`, fromMs: i });
  }
  expect(known).toMatchObject({ admitted: { key: 'k39', former: expect.arrayContaining(['k38']) } });
  expect('admitted' in known && known.admitted.former).toHaveLength(16);
});

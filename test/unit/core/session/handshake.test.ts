import { describe, expect, it } from 'vitest';
import {
  admit,
  fenceOf,
  forgetStarts,
  readSession,
  type SessionRecord,
  writeSession,
} from '../../../../core/session/handshake.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { Hello } from '../../../../core/wire/generated/mesh.ts';

const nonce = (byte: number) => Buffer.alloc(16, byte);
const hello = (changes: Partial<Hello> = {}): Hello => ({
  ...Hello.decode(new Uint8Array(0)),
  versionMin: 1,
  versionMax: 1,
  path: 'eu:paris',
  role: 'relay',
  bootCounter: 7,
  bootNonce: nonce(1),
  attachSequence: 0,
  down: undefined,
  downCreditBytes: 0,
  maxFrameBytes: 0,
  software: 'test',
  ...changes,
});
const known: SessionRecord = {
  sessionSequence: 3,
  bootCounter: 7,
  bootNonce: nonce(1).toString('hex'),
  attachSequence: 0,
};

describe('the admission of a child', () => {
  it('numbers its sessions', () => {
    expect(admit(hello(), 'eu:paris', undefined)).toMatchObject({ admitted: true, record: { sessionSequence: 1 } });
    expect(admit(hello(), 'eu:paris', known)).toMatchObject({ admitted: true, record: { sessionSequence: 4 } });
  });

  it('accepts a child that has started again', () => {
    expect(admit(hello({ bootCounter: 8, bootNonce: nonce(2) }), 'eu:paris', known)).toMatchObject({ admitted: true });
  });

  it('refuses an older start as a clone', () => {
    const refused = admit(hello({ bootCounter: 6 }), 'eu:paris', known);
    expect(refused).toMatchObject({ admitted: false, reason: 'clone' });
    expect(refused).toHaveProperty('message', expect.stringContaining('an older start (6, known 7)'));
    expect(refused).toHaveProperty('bootCounter', 7);
  });

  it('refuses another process with the same boot counter as a clone', () => {
    expect(admit(hello({ bootNonce: nonce(9) }), 'eu:paris', known)).toMatchObject({
      admitted: false,
      reason: 'clone',
    });
  });

  it('refuses a version that it does not speak, naming both ranges', () => {
    const refused = admit(hello({ versionMin: 7, versionMax: 9 }), 'eu:paris', undefined);
    expect(refused).toMatchObject({ admitted: false, reason: 'version' });
    expect(refused).toHaveProperty(
      'message',
      expect.stringContaining('versions 7 to 9 of the protocol, this parent version 1:'),
    );
  });

  it('chooses the highest version that both speak', () => {
    expect(admit(hello({ versionMin: 1, versionMax: 9 }), 'eu:paris', undefined)).toMatchObject({ version: 1 });
  });

  it('refuses a hello for another path than the certificate is for', () => {
    expect(admit(hello({ path: 'eu:berlin' }), 'eu:paris', undefined)).toMatchObject({
      admitted: false,
      reason: 'path',
    });
  });
});

describe('a child that was removed for good', () => {
  const store = new MemoryStore();
  store.write((t) => writeSession(t, 'eu:paris', known));
  const fence = fenceOf('eu:paris', known);
  const admitted = (changes: Partial<Hello>) =>
    admit(
      hello(changes),
      'eu:paris',
      store.read((reader) => readSession(reader, 'eu:paris')),
    );

  it('frees its name for the next node of that name, however seldom that node was started', () => {
    expect(admitted({ bootCounter: 1, bootNonce: nonce(9) })).toMatchObject({ admitted: false });
    store.write((t) => forgetStarts(t, 'eu:paris'));
    expect(admitted({ bootCounter: 1, bootNonce: nonce(9) })).toMatchObject({
      admitted: true,
      record: { sessionSequence: 4 },
    });
  });

  it('commits nothing more', () => {
    expect(() => store.write((t) => fence(t))).toThrow('session 3 of "eu:paris" is over');
  });

  it('leaves nothing behind if it never attached', () => {
    store.write((t) => forgetStarts(t, 'eu:lyon'));
    expect(store.read((reader) => readSession(reader, 'eu:lyon'))).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { validateHello, validateWelcome } from '../../../../core/session/hello-validation.ts';
import { Hello, Welcome } from '../../../../core/wire/generated/mesh.ts';

const hello: Hello = {
  ...Hello.decode(new Uint8Array(0)),
  role: 'agent',
  bootNonce: Buffer.alloc(16),
  transport: 'grpc+proxy',
};
const welcome: Welcome = { ...Welcome.decode(new Uint8Array(0)), version: 1 };
const tuple = { epoch: Buffer.alloc(16), incarnation: Buffer.alloc(16), cursor: 0, seenHead: 0 };

describe('a hello', () => {
  it('may omit fields whose absence has a meaning', () => {
    expect(validateHello(hello, 'agent')).toBeUndefined();
    expect(validateHello({ ...hello, down: { ...tuple, epoch: Buffer.alloc(0) } }, 'agent')).toBeUndefined();
  });

  it.each<[keyof Hello, Partial<Hello>, string]>([
    ['role', { role: 'relay' }, 'role is "relay", by the certificate it is agent'],
    ['bootCounter', { bootCounter: 2 ** 33 }, 'boot_counter is 8589934592: it must be at most 8589934591'],
    ['bootNonce', { bootNonce: Buffer.alloc(15) }, 'boot_nonce has 15 bytes: it must have 16'],
    [
      'attachSequence',
      { attachSequence: 2 ** 43 },
      'attach_sequence is 8796093022208: it must be at most 8796093022207',
    ],
    ['attachedNonce', { attachedNonce: Buffer.alloc(17) }, 'attached_nonce has 17 bytes: it must have 16'],
    ['down', { down: { ...tuple, epoch: Buffer.alloc(3) } }, 'down.epoch has 3 bytes'],
    ['down', { down: { ...tuple, incarnation: Buffer.alloc(3) } }, 'down.incarnation has 3 bytes'],
    ['down', { down: { ...tuple, cursor: 2 ** 48 } }, 'down.cursor is'],
    ['down', { down: { ...tuple, seenHead: 2 ** 48 } }, 'down.seen_head is'],
    ['held', { held: [{ contentHash: Buffer.alloc(1), bytes: 1 }] }, 'held.content_hash has 1 bytes'],
    ['software', { software: 'x'.repeat(257) }, 'software has 257 characters: it must have at most 256'],
    ['transport', { transport: '' }, 'transport is "": it must have 1 to 64 characters of a-z, 0-9 and +'],
    ['transport', { transport: 'no such' }, 'transport is "no such"'],
    ['transport', { transport: 'x'.repeat(65) }, 'it must have 1 to 64 characters'],
  ])('whose %s is beyond its limit is refused with the field and its valid values', (_field, wrong, message) => {
    expect(validateHello({ ...hello, ...wrong }, 'agent')).toContain(message);
  });
});

describe('a welcome', () => {
  it('may omit fields whose absence has a meaning', () => {
    expect(validateWelcome(welcome)).toBeUndefined();
  });

  it.each<[keyof Welcome, Partial<Welcome>, string]>([
    ['sessionSequence', { sessionSequence: 2 ** 48 }, 'session_sequence is'],
    ['up', { up: { ...tuple, cursor: 2 ** 48 } }, 'up.cursor is'],
    ['downEpoch', { downEpoch: Buffer.alloc(2) }, 'down_epoch has 2 bytes'],
    ['downIncarnation', { downIncarnation: Buffer.alloc(2) }, 'down_incarnation has 2 bytes'],
    ['held', { held: [{ contentHash: Buffer.alloc(0), bytes: 1 }] }, 'held.content_hash has 0 bytes'],
    ['software', { software: 'x'.repeat(300) }, 'software has 300 characters'],
  ])('whose %s is beyond its limit is refused with the field', (_field, wrong, message) => {
    expect(validateWelcome({ ...welcome, ...wrong })).toContain(message);
  });
});

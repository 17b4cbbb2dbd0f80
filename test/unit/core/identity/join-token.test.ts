import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  hashOfSecret,
  isSecretOf,
  newJoinToken,
  pinned,
  readJoinToken,
  writeJoinToken,
} from '../../../../core/identity/join-token.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { TestTree } from '../../../support/test-tree.ts';

let ca: string;
let otherCa: string;
beforeAll(async () => {
  [ca, otherCa] = (await Promise.all([TestTree.create(), TestTree.create()])).map((tree) => tree.authority.certPem) as [
    string,
    string,
  ];
});

describe('a join token', () => {
  it('is parsed back as it was written, also with space around it', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const token = newJoinToken(ca, new SeededRandom(seed));
        expect(readJoinToken(` ${writeJoinToken(token)}\n`, 'file')).toEqual(token);
      }),
    );
  });

  it('has a secret of 256 bits; its hash identifies the secret and does not reveal it', () => {
    const { secret } = newJoinToken(ca, new SeededRandom(1));
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(isSecretOf(secret, hashOfSecret(secret))).toBe(true);
    expect(isSecretOf(newJoinToken(ca, new SeededRandom(2)).secret, hashOfSecret(secret))).toBe(false);
    expect(isSecretOf(secret, 'no hash')).toBe(false);
  });

  it('pins the authority of its tree, also among several trusted authorities', () => {
    const { pin } = newJoinToken(ca, new SeededRandom(1));
    expect(pinned(`${otherCa}\n${ca}`, pin).map((one) => one.trim())).toEqual([ca.trim()]);
    expect(pinned(otherCa, pin)).toEqual([]);
    expect(pinned('undefined', pin)).toEqual([]);
    expect(pinned('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', pin)).toEqual([]);
  });

  it.each([
    ['', /file: the text is no join token: a join token begins with banyan-join-1\./],
    ['banyan-join-2.a.b.c', /the text is no join token/],
    ['banyan-join-1.a.b.c', /a part of the join token is missing or has another length/],
    ['banyan-join-1', /a part of the join token is missing/],
  ])('is refused with a message if it is malformed: %s', (text, message) => {
    expect(() => readJoinToken(text, 'file')).toThrow(message);
  });

  it('shows nothing of its secret if a part of it is wrong', () => {
    const token = newJoinToken(ca, new SeededRandom(1));
    const cut = writeJoinToken(token).slice(0, -1);
    const message = (() => {
      try {
        return readJoinToken(cut, 'file');
      } catch (error) {
        return (error as Error).message;
      }
    })();
    expect(message).toMatch(/is missing or has another length/);
    expect(message).not.toContain(token.secret);
  });
});

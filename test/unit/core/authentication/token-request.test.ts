import { describe, expect, it } from 'vitest';
import { bearerToken } from '../../../../core/authentication/bearer.ts';
import { TokenCache } from '../../../../core/authentication/token-cache.ts';
import { type GivenTokenSpec, readTokenRequest } from '../../../../core/authentication/token-request.ts';

const read = (spec: GivenTokenSpec) => readTokenRequest(spec, 'me');

describe('a request for a token', () => {
  it('has an hour and the audience of the node if it names neither', () => {
    for (const spec of [{}, { audiences: null, expirationSeconds: null }, { audiences: [] }])
      expect(read(spec)).toEqual({ causes: [], spec: { audiences: ['me'], expirationSeconds: 3_600 } });
  });

  it('is refused below ten minutes and beyond 2^32 seconds, with the words of Kubernetes; a time above a year is cut', () => {
    const messages = (expirationSeconds: number | bigint) =>
      read({ expirationSeconds }).causes.map(({ message }) => message);
    expect(messages(599)).toEqual(['Invalid value: 599: may not specify a duration less than 10 minutes']);
    expect(messages(2 ** 32 + 1)).toEqual([
      'Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ]);
    expect(messages(2n ** 60n)[0]).toContain('may not specify a duration larger than 2^32 seconds');
    expect(read({ expirationSeconds: 2 ** 32 }).spec.expirationSeconds).toBe(366 * 86_400);
  });

  it('may be bound to a Pod or a Secret, and to nothing else', () => {
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 's' };
    expect(read({ boundObjectRef }).spec.bound).toEqual({ kind: 'Secret', name: 's', uid: '' });
    expect(() => read({ boundObjectRef: { kind: 'Node', name: 'n' } })).toThrow(
      'cannot bind token for object of type v1, Kind=Node: bind the token to a v1 Pod or v1 Secret',
    );
  });
});

describe('the bearer token of a request', () => {
  it('is the text after the scheme, in any case', () => {
    expect(bearerToken('Bearer a.b-c_d')).toBe('a.b-c_d');
    expect(bearerToken('bearer  x ')).toBe('x');
  });

  it('is none if the scheme is another one, or if the text is huge or no token', () => {
    for (const header of [undefined, '', 'Basic eDp5', 'Bearer', 'Bearer a b', `Bearer ${'x'.repeat(20_000)}`])
      expect(bearerToken(header)).toBeUndefined();
  });
});

describe('the results of checks', () => {
  it('are kept until the token expires, for a bounded number of tokens', () => {
    const cache = new TokenCache<{ expiresMs: number; name: string }>();
    cache.keep('a', { expiresMs: 10, name: 'a' });
    expect([cache.get('a', 9)?.name, cache.get('a', 10), cache.get('a', 9)]).toEqual(['a', undefined, undefined]);
    for (let i = 0; i < 1_001; i++) cache.keep(`t${i}`, { expiresMs: 10, name: `${i}` });
    expect([cache.get('t0', 0), cache.get('t1000', 0)?.name]).toEqual([undefined, '1000']);
  });
});

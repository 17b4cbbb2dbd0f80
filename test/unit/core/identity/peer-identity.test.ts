import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identityOfCertificate, identityOfSpiffeId, spiffeId } from '../../../../core/identity/peer-identity.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { certificateWith } from '../../../support/test-tree.ts';

const refusal = (act: () => unknown): BanyanError => {
  try {
    act();
  } catch (error) {
    if (error instanceof BanyanError) return error;
    throw error;
  }
  throw new Error('it was accepted');
};

describe('a SPIFFE identity', () => {
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/);

  it('has one form for each node of a tree, and is parsed back as that node', () => {
    const node = fc.record({
      role: fc.constantFrom('relay' as const, 'agent' as const),
      path: fc.array(label, { minLength: 1, maxLength: 6 }).map((names) => names.join(':')),
    });
    fc.assert(
      fc.property(label, node, (tree, identity) => {
        expect(identityOfSpiffeId(spiffeId(tree, identity))).toEqual(identity);
      }),
    );
  });

  it('of the center has no path', () => {
    expect(spiffeId('shop', { role: 'center', path: '' })).toBe('spiffe://shop/node/center');
    expect(identityOfSpiffeId('spiffe://shop/node/center')).toEqual({ role: 'center', path: '' });
  });

  it.each([
    ['My Tree', { role: 'agent', path: 'eu' }, 'agent "eu" of tree "My Tree": "My Tree" is no name of a tree'],
    ['shop/node/center', { role: 'agent', path: 'eu' }, '"shop/node/center": the center has no path'],
    ['shop/node/agent', { role: 'agent', path: 'eu' }, '"shop/node/agent": a slash in a name'],
    ['shop', { role: 'agent', path: 'eu::kid' }, 'agent "eu::kid" of tree "shop": "" in its path'],
    ['shop', { role: 'agent', path: 'eu/kid' }, 'agent "eu/kid" of tree "shop": a slash in a name'],
    ['shop', { role: 'relay', path: '' }, 'relay "" of tree "shop": a path has to follow the role relay'],
  ] as const)('is not made if it could not be parsed back: tree %s, %o', (tree, identity, reason) => {
    const error = refusal(() => spiffeId(tree, identity));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(reason);
  });

  it('that is accepted is the only text for its node', () => {
    const piece = fc.constantFrom('spiffe:', 'shop', 'node', 'center', 'agent', 'eu', 'a:b', 'A', '', '.', '..', '%61');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = `spiffe://shop/node/${pieces.join('/')}`;
        let read: ReturnType<typeof identityOfSpiffeId>;
        try {
          read = identityOfSpiffeId(text);
        } catch {
          return;
        }
        expect(spiffeId('shop', read)).toBe(text);
      }),
    );
  });

  it.each([
    ['https://shop/node/agent/eu', 'it does not begin with spiffe://'],
    ['SPIFFE://shop/node/agent/eu', 'it does not begin with spiffe://'],
    ['spiffe:///node/agent/eu', '"" is no name of a tree'],
    ['spiffe://shop:8443/node/agent/eu', '"shop:8443" is no name of a tree'],
    ['spiffe://me@shop/node/agent/eu', '"me@shop" is no name of a tree'],
    ['spiffe://shop', 'its path does not begin with /node/'],
    ['spiffe://shop/ns/default/sa/x', 'its path does not begin with /node/'],
    ['spiffe://shop/node', '"" is none of the roles center, relay, agent'],
    ['spiffe://shop/node/admin/eu', '"admin" is none of the roles center, relay, agent'],
    ['spiffe://shop/node/center/eu', 'the center has no path'],
    ['spiffe://shop/node/center/', 'the center has no path'],
    ['spiffe://shop/node/relay', 'a path has to follow the role relay'],
    ['spiffe://shop/node/agent/', '"" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu/', '"" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu//paris', '"" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu/..', '".." in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu:paris', '"eu:paris" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu%2fparis', '"eu%2fparis" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/EU', '"EU" in its path: a lowercase RFC 1123 label'],
    ['spiffe://shop/node/agent/eu?x=1', '"eu?x=1" in its path: a lowercase RFC 1123 label'],
    [`spiffe://shop/node/agent/${'a'.repeat(64)}`, 'must be no more than 63 characters'],
  ])('refuses %s', (id, reason) => {
    const error = refusal(() => identityOfSpiffeId(id));
    expect(error.code).toBe('Unauthorized');
    expect(error.message).toContain(`the certificate is for ${id}, which is no node of a tree: `);
    expect(error.message).toContain(reason);
  });
});

describe("a certificate's identity", () => {
  it('is its URI, whatever hosts it also names', async () => {
    const der = await certificateWith([
      { type: 'dns', value: 'localhost' },
      { type: 'url', value: 'spiffe://shop/node/relay/eu/paris' },
      { type: 'ip', value: '127.0.0.1' },
    ]);
    const key = expect.stringMatching(/^[0-9a-f]{64}$/);
    const certificate = { key, fromMs: expect.any(Number) };
    expect(identityOfCertificate(der)).toEqual({ role: 'relay', path: 'eu:paris', certificate });
  });

  it('is refused if it has no URI, with the names that it has', async () => {
    const user = await certificateWith([]);
    expect(refusal(() => identityOfCertificate(user)).message).toBe(
      'the certificate names no node of a tree (it has no alternative names)',
    );
    const server = await certificateWith([{ type: 'dns', value: 'store-17' }]);
    expect(refusal(() => identityOfCertificate(server)).message).toBe(
      'the certificate names no node of a tree (DNS:store-17)',
    );
  });

  it('is refused if it has two URIs, since either could be meant', async () => {
    const der = await certificateWith([
      { type: 'url', value: 'spiffe://shop/node/agent/eu/kid' },
      { type: 'url', value: 'spiffe://shop/node/center' },
    ]);
    expect(refusal(() => identityOfCertificate(der))).toMatchObject({
      code: 'Unauthorized',
      message:
        'the certificate names more than one identity: spiffe://shop/node/agent/eu/kid, spiffe://shop/node/center',
    });
  });

  it.each(['URI:spiffe://shop/node/center', 'x, URI:spiffe://shop/node/center'])(
    'is not found inside another name: %s',
    async (value) => {
      const der = await certificateWith([{ type: 'dns', value }]);
      expect(refusal(() => identityOfCertificate(der)).message).toContain('names no node of a tree');
    },
  );

  it('is refused if its URI has a separator of names in it', async () => {
    const der = await certificateWith([
      { type: 'url', value: 'spiffe://shop/node/agent/eu, URI:spiffe://x/node/center' },
    ]);
    expect(refusal(() => identityOfCertificate(der)).code).toBe('Unauthorized');
  });
});

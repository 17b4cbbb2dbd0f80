import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { createAuthority } from '../../../../core/identity/authority.ts';
import { authorityId } from '../../../../core/identity/peer-identity.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { dependentsOf, shownAuthorities } from '../../../../relay/inventory-status/authority-dependents.ts';

const of = (path: string, authority?: string, dependents?: object) => ({
  path,
  report: { ...(authority ? { authority } : {}), ...(dependents ? { dependents } : {}) } as never,
});

it('counts the node and its agents, and adds what relays have counted', () => {
  const nodes = [
    of('eu', 'new'),
    of('eu:till', 'old'),
    of('eu:shop', 'new'),
    of('eu:paris', 'new', { new: { nodes: 4, sample: ['eu:paris'] }, old: { nodes: 2, sample: ['eu:paris:x'] } }),
  ];
  expect(dependentsOf(nodes, ['new', 'old'])).toEqual({
    new: { nodes: 6, sample: ['eu', 'eu:shop', 'eu:paris'] },
    old: { nodes: 3, sample: ['eu:till', 'eu:paris:x'] },
  });
});

it('counts nodes with an unknown authority, or of a version that reports none, together, and leaves out who never reported', () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, { nodes: 1, sample: [`x${i}`] }]));
  const nodes = [of('', 'new'), of('eu', 'new', many), of('us'), { path: 'never', report: undefined }];
  expect(dependentsOf(nodes, ['new'])).toEqual({
    new: { nodes: 1, sample: [''] },
    other: { nodes: 51, sample: ['x0', 'x1', 'x2', 'x3', 'x4'] },
  });
});

it('shows each trusted authority with its dependents, and the rest as one', async () => {
  const { certPem } = await createAuthority('shop', { clock: systemClock, random: systemRandom });
  const authority = new X509Certificate(certPem);
  const id = authorityId(authority);
  const shown = shownAuthorities(
    { own: { authority: id, trusts: [id] }, authorities: [authority], inUse: [id, undefined] },
    { [id]: { nodes: 2, sample: ['', 'eu'] }, other: { nodes: 1, sample: ['us'] } },
  );
  expect(shown).toEqual([
    {
      id,
      subject: 'CN=banyan shop',
      notAfter: expect.stringMatching(/^20\d\d-/),
      certificate: `${certPem.trim()}\n`,
      inUse: true,
      nodes: 2,
      sample: ['', 'eu'],
    },
    { id: 'other', nodes: 1, sample: ['us'] },
  ]);
});

/** Users whose certificates have intermediate certificates between them and the authority of users, at an API with real TLS. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createUserAuthority, type KeyAndCertificate } from '../../../../core/identity/authority.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { type Forged, forged, usersApi } from '../../../support/forged.ts';
import { TestTree } from '../../../support/test-tree.ts';

const jane = { subject: 'O=tills, CN=jane' };
const desk = (name: string): Forged => ({ subject: `CN=${name}`, isCa: true });
const first = (pem: string) => `${pem.split('-----END CERTIFICATE-----')[0]}-----END CERTIFICATE-----\n`;

describe('a certificate of a user with intermediate certificates', () => {
  let tree: TestTree;
  let users: KeyAndCertificate;
  let api: Awaited<ReturnType<typeof usersApi>>;
  beforeAll(async () => {
    tree = await TestTree.create('shop');
    users = await createUserAuthority('shop', { clock: systemClock, random: systemRandom });
    api = await usersApi(await tree.credentials('eu', 'relay'), users.certPem);
  });
  afterAll(() => api[Symbol.asyncDispose]());

  /** A chain with this number of intermediate certificates. */
  async function below(between: number, root = users): Promise<KeyAndCertificate> {
    let by = root;
    for (let made = 0; made < between; made++) by = await forged(by, desk(`desk ${made}`));
    return by;
  }

  it.each([0, 1, 2, 8])('is of a user, with %d of them', async (between) => {
    expect(await api.statusFor(await forged(await below(between), jane))).toBe(404);
  });

  it('is of a user in any order of the certificates above it', async () => {
    const { certPem, keyPem } = await forged(await below(3), jane);
    const [leaf, ...above] = certPem.match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----/g)!;
    expect(await api.statusFor({ certPem: [leaf, ...above.reverse()].join('\n'), keyPem })).toBe(404);
  });

  it('is of nobody with more of them than are read, although TLS accepts it', async () => {
    expect(await api.statusFor(await forged(await below(9), jane))).toBe(401);
  });

  it.each<[string, () => Promise<KeyAndCertificate>]>([
    [
      'one of them is missing',
      async () => {
        const { certPem, keyPem } = await forged(await below(1), jane);
        return { certPem: first(certPem), keyPem };
      },
    ],
    ['one of them is of no authority', async () => forged(await forged(users, { subject: 'CN=bob' }), jane)],
    ['one of them has expired', async () => forged(await forged(users, { ...desk('desk'), isExpired: true }), jane)],
    ['the authority is the one of nodes', async () => forged(await below(1, tree.authority), jane)],
    [
      'the authority has the same name and another key',
      async () => {
        const other = await createUserAuthority('shop', { clock: systemClock, random: systemRandom });
        return forged(await below(1, other), jane);
      },
    ],
    ['it is for servers', async () => forged(await below(1), { ...jane, usages: ['1.3.6.1.5.5.7.3.1'] })],
  ])('is of nobody if %s', async (_what, made) => {
    expect(await api.statusFor(await made())).toBe(401);
  });
});

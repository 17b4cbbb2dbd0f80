/** The steps of a change of the authority in a folder of keys, also after an interruption of each of them. */
import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuthorityFiles } from '../../../../center/supervisor/authority-files.ts';
import { createAuthority, createUserAuthority, issueNode, issueUser } from '../../../../core/identity/authority.ts';
import { authorityId } from '../../../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../../../core/identity/pem-certificates.ts';
import { authorityOfChain, bundlePem, judgeBundle } from '../../../../core/identity/trusted-authorities.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

const issuing = { clock: systemClock, random: systemRandom };
let folder: string;
let files: AuthorityFiles;
let former: X509Certificate;

const text = (name: string) => readFileSync(join(folder, name), 'utf8');
const put = (name: string, content: string) => writeFileSync(join(folder, name), content);
const ids = () => files.authorities.map(authorityId);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-authority-'));
  files = new AuthorityFiles(folder, issuing);
  const authority = await createAuthority('shop', issuing);
  const users = await createUserAuthority('shop', issuing);
  const node = await issueNode(authority, { tree: 'shop', path: 'eu', role: 'relay', hosts: [] }, issuing);
  put('ca.crt', authority.certPem);
  put('ca.key', authority.keyPem);
  put('eu.crt', node.certPem);
  put('users_ca.crt', users.certPem);
  put('user-admin.crt', (await issueUser(users, { name: 'admin', groups: [] }, issuing)).certPem);
  [former] = files.authorities as [X509Certificate];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the next authority', () => {
  it('is made once, with an introduction by the present one', async () => {
    await files.add();
    const { next } = files;
    await files.add();
    expect(files.next?.fingerprint256).toBe(next?.fingerprint256);
    expect(ids()).toEqual([authorityId(former)]);
    const bundle = bundlePem([next!, former, ...files.introductions]);
    expect(judgeBundle([former], bundle).authorities).toHaveLength(2);
  });

  it('needs the key of the present one, and says where', async () => {
    rmSync(join(folder, 'ca.key'));
    await expect(files.add()).rejects.toThrow(/there is no .*ca\.key: name the folder .* with --pki/);
    expect(files.next).toBeUndefined();
  });

  it('signs all certificates of nodes again, and those of users not', async () => {
    const users = text('user-admin.crt');
    await files.add();
    files.promote();
    expect(ids()[1]).toBe(authorityId(former));
    expect(await files.signFolder()).toEqual(['eu.crt']);
    expect(authorityOfChain(text('eu.crt'), files.authorities)).toBe(ids()[0]);
    // For a node that was away: over the introduction, the certificate leads to the former authority too.
    expect(authorityOfChain(text('eu.crt'), [former])).toBe(authorityId(former));
    expect(text('user-admin.crt')).toBe(users);
    expect(await files.signFolder()).toEqual([]);
    files.drop(authorityId(former));
    expect(ids()).toHaveLength(1);
    expect(readdirSync(folder).filter((file) => file.startsWith('ca_'))).toEqual(['ca_introductions.crt']);
  });

  it('signs with its own key after an interruption at any write of the step', async () => {
    await files.add();
    const before = join(folder, 'before');
    const names = ['ca.crt', 'ca.key', 'ca_next.crt', 'ca_next.key'];
    for (const name of names) cpSync(join(folder, name), join(before, name));
    files.promote();
    const whole = { crt: text('ca.crt'), key: text('ca.key') };
    const formerKey = text('ca_former.key');
    /** The files that the step had written when it was interrupted. */
    for (const written of [['ca_former.key'], ['ca_former.key', 'ca.key'], ['ca_former.key', 'ca.key', 'ca.crt']]) {
      for (const name of names) if (!written.includes(name)) cpSync(join(before, name), join(folder, name));
      files.promote();
      expect({ crt: text('ca.crt'), key: text('ca.key') }).toEqual(whole);
      expect(text('ca_former.key')).toBe(formerKey);
      expect(existsSync(join(folder, 'ca_next.key'))).toBe(false);
    }
    expect(files.authorities[0]!.checkPrivateKey(createPrivateKey(whole.key))).toBe(true);
  });

  it('can be given up before it signs', async () => {
    await files.add();
    files.drop(authorityId(files.next!));
    expect([files.next, ids()]).toEqual([undefined, [authorityId(former)]]);
  });
});

it('signs files of other machines again, and leaves those alone that no authority of the folder has signed', async () => {
  const other = await createAuthority('other', issuing);
  const node = await issueNode(other, { tree: 'other', path: 'eu', role: 'relay', hosts: [] }, issuing);
  put('theirs', node.certPem);
  cpSync(join(folder, 'eu.crt'), join(folder, 'elsewhere'));
  await files.add();
  files.promote();
  expect(await files.sign(join(folder, 'theirs'))).toBe(false);
  expect(text('theirs')).toBe(node.certPem);
  expect(await files.sign(join(folder, 'elsewhere'))).toBe(true);
  expect(certificatesIn(text('elsewhere'))).toHaveLength(2);
});

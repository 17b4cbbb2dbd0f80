/**
 * The authority of nodes in a folder of keys: `ca.crt`, `ca.key`, and what a change of it adds. The folder is `pki` of a data directory, or any other folder with these two
 * files. Every step can be done again after an interruption.
 *
 * - `ca.crt`: the trusted authorities, the one that signs first; `ca.key`: the key of the first one.
 * - `ca_next.crt`, `ca_next.key`: an authority that was added and does not sign yet.
 * - `ca_former.key`: the key of the authority that signed before.
 * - `ca_introductions.crt`: the introductions of authorities (core/identity/trusted-authorities.ts).
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Issuing, KeyAndCertificate } from '../../core/identity/authority.ts';
import { createNextAuthority, signAgain } from '../../core/identity/authority-change.ts';
import { pathUp } from '../../core/identity/certificate-chain.ts';
import { authorityId } from '../../core/identity/peer-identity.ts';
import { certificatesIn } from '../../core/identity/pem-certificates.ts';
import { authoritiesMax, bundlePem } from '../../core/identity/trusted-authorities.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';

const publicFile = { mode: 0o644 } as const;

export class AuthorityFiles {
  readonly folder: string;
  readonly #issuing: Issuing;

  constructor(folder: string, issuing: Issuing) {
    this.folder = folder;
    this.#issuing = issuing;
  }

  get authorities(): X509Certificate[] {
    return this.#certificates('ca.crt');
  }

  get introductions(): X509Certificate[] {
    return this.#certificates('ca_introductions.crt');
  }

  /** PEM: what follows a certificate of the first authority, so that nodes who trust only the former authority accept it. */
  get above(): string {
    const [first] = this.authorities;
    return first ? bundlePem(this.introductions.filter(({ publicKey }) => publicKey.equals(first.publicKey))) : '';
  }

  /** The authority that was added and does not sign yet. */
  get next(): X509Certificate | undefined {
    return this.#certificates('ca_next.crt')[0];
  }

  has(file: string): boolean {
    return existsSync(join(this.folder, file));
  }

  /** Makes the next authority, unless there is one already. Throws NotFound if the folder does not have the present authority with its key. */
  async add(): Promise<void> {
    if (this.next) return;
    const present = this.#pair('ca');
    const [{ subject }] = this.authorities as [X509Certificate];
    const tree = /CN=banyan (\S+)/.exec(subject)?.[1] ?? subject.replaceAll(/[^A-Za-z0-9.-]+/g, '-');
    const { certPem, keyPem, introductionPem } = await createNextAuthority(present, tree, this.#issuing);
    this.#write('ca_next.key', keyPem);
    const introductions = [new X509Certificate(introductionPem), ...this.introductions].slice(0, authoritiesMax);
    this.#write('ca_introductions.crt', bundlePem(introductions), publicFile);
    this.#write('ca_next.crt', certPem, publicFile);
  }

  /** From now on, the next authority signs. Does nothing if there is none. */
  promote(): void {
    const { next } = this;
    if (!next) return;
    const { keyPem } = this.#pair('ca_next');
    const former = this.#pair('ca');
    const [first] = this.authorities as [X509Certificate];
    // An earlier try may have ended after any of these writes.
    if (authorityId(first) !== authorityId(next)) {
      if (first.checkPrivateKey(createPrivateKey(former.keyPem))) this.#write('ca_former.key', former.keyPem);
      this.#write('ca.key', keyPem);
      this.#write('ca.crt', bundlePem([next, ...this.authorities]), publicFile);
    }
    for (const file of ['ca_next.crt', 'ca_next.key']) rmSync(join(this.folder, file));
  }

  /**
   * Signs again, with the first authority, all certificates of the folder that another one of the authorities has signed. Returns the names of the files. Keys and
   * validity stay the same.
   */
  async signFolder(): Promise<string[]> {
    const own = ['ca.crt', 'ca_next.crt', 'ca_introductions.crt'];
    const files = readdirSync(this.folder).filter((file) => file.endsWith('.crt') && !own.includes(file));
    const signed: string[] = [];
    for (const file of files.sort()) if (await this.sign(join(this.folder, file))) signed.push(file);
    return signed;
  }

  /** Signs one file again. Returns false if none of the authorities has signed it, or the first one has already. */
  async sign(file: string): Promise<boolean> {
    const [certificate, ...between] = certificatesIn(readFileSync(file));
    const { authorities } = this;
    const found = certificate && pathUp([certificate, ...between], authorities);
    if (!found || found.path.length > 1 || authorityId(found.authority) === authorityId(authorities[0]!)) return false;
    const pem = await signAgain(this.#pair('ca'), certificate.toString(), this.#issuing);
    writeWhole(file, `${pem.trim()}\n${this.above}`, { mode: statSync(file).mode & 0o777 });
    return true;
  }

  /** Forgets the authority. The one that signs can't be dropped. */
  drop(id: string): void {
    const kept = this.authorities.filter((one) => authorityId(one) !== id);
    if (kept.length < this.authorities.length) {
      this.#write('ca.crt', bundlePem(kept), publicFile);
      rmSync(join(this.folder, 'ca_former.key'), { force: true });
    }
    if (this.next && authorityId(this.next) === id) {
      for (const file of ['ca_next.crt', 'ca_next.key']) rmSync(join(this.folder, file), { force: true });
    }
  }

  #pair(name: string): KeyAndCertificate {
    const [cert, key] = [join(this.folder, `${name}.crt`), join(this.folder, `${name}.key`)];
    for (const file of [cert, key]) {
      if (existsSync(file)) continue;
      const remedy = 'name the folder with the certificate and the key of the authority with --pki';
      throw new BanyanError('NotFound', `there is no ${file}: ${remedy}`);
    }
    return { certPem: readFileSync(cert, 'utf8'), keyPem: readFileSync(key, 'utf8') };
  }

  #certificates(name: string): X509Certificate[] {
    const file = join(this.folder, name);
    return existsSync(file) ? certificatesIn(readFileSync(file)) : [];
  }

  #write(name: string, content: string, options = {}): void {
    writeWhole(join(this.folder, name), content, options);
  }
}

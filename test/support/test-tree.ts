/** An authority and the certificates of a tree, for tests that need real ones. Also makes certificates that no tree would issue. */
import type { PeerIdentity } from '../../core/identity/peer-identity.ts';
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { createAuthority, issueNode, issueUser, type KeyAndCertificate } from '../../core/identity/authority.ts';
import { splitReplica } from '../../core/identity/replica.ts';
import { type Clock, systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import type { NodeCredentials } from '../../core/wire/node-credentials.ts';

export class TestTree {
  readonly name: string;
  readonly authority: KeyAndCertificate;

  static async create(name = 'test'): Promise<TestTree> {
    return new TestTree(name, await createAuthority(name, { clock: systemClock, random: systemRandom }));
  }

  private constructor(name: string, authority: KeyAndCertificate) {
    this.name = name;
    this.authority = authority;
  }

  /** Issues a certificate. `named`: the path of the node, with the number of a replica: `eu~1`. `clock`: the time of issue. */
  async credentials(
    named: string,
    role: PeerIdentity['role'],
    clock: Clock = systemClock,
    hosts: readonly string[] = ['127.0.0.1', 'localhost'],
  ): Promise<NodeCredentials> {
    const { name: path, replica } = splitReplica(named);
    const node = { tree: this.name, path, role, replica, hosts };
    return this.with(await issueNode(this.authority, node, { clock, random: systemRandom }));
  }

  user(name: string): Promise<KeyAndCertificate> {
    return issueUser(this.authority, { name, groups: [] }, { clock: systemClock, random: systemRandom });
  }

  /** Returns credentials with any certificate and key, which trust the authority of this tree. */
  with({ certPem, keyPem }: KeyAndCertificate): NodeCredentials {
    return { caPem: Buffer.from(this.authority.certPem), certPem: Buffer.from(certPem), keyPem: Buffer.from(keyPem) };
  }
}

/** The bytes of a certificate with these alternative names. */
export async function certificateWith(names: x509.JsonGeneralNames): Promise<Uint8Array> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=any',
    signingAlgorithm: algorithm,
    keys,
    extensions: names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [],
  });
  return new Uint8Array(certificate.rawData);
}

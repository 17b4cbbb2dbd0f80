/** Keys, certificates and kubeconfigs of one control plane, which has its own authority. */
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createAuthority, issueNode, issueUser, type KeyAndCertificate } from '../../../core/identity/authority.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { systemRandom } from '../../../core/runtime/random.ts';

const issuing = { clock: systemClock, random: systemRandom };

export interface ClusterCredentials {
  readonly authority: KeyAndCertificate;
  readonly files: Readonly<Record<'ca' | 'caKey' | 'cert' | 'key' | 'tokenKey' | 'tokenPublicKey', string>>;
}

export async function makeCredentials(directory: string): Promise<ClusterCredentials> {
  const authority = await createAuthority('control-plane', issuing);
  const hosts = ['127.0.0.1', '10.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  const server = await issueNode(authority, { role: 'center', path: '', tree: 'control-plane', hosts }, issuing);
  const tokens = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const write = (name: string, content: string) => {
    const file = join(directory, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  return {
    authority,
    files: {
      ca: write('ca.crt', authority.certPem),
      caKey: write('ca.key', authority.keyPem),
      cert: write('apiserver.crt', server.certPem),
      key: write('apiserver.key', server.keyPem),
      tokenKey: write('tokens.key', tokens.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
      tokenPublicKey: write('tokens.pub', tokens.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    },
  };
}

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  /** The time at which the certificate becomes valid. Absent: now. */
  readonly issuedAtMs?: number;
}

/** Writes a kubeconfig that contains all its data. So the file alone can be passed on. */
export async function writeKubeconfig(
  file: string,
  authority: KeyAndCertificate,
  { server, user }: { readonly server: string; readonly user: User },
): Promise<void> {
  const { issuedAtMs } = user;
  const clock = issuedAtMs === undefined ? systemClock : { ...systemClock, wallMs: () => issuedAtMs };
  const { certPem, keyPem } = await issueUser(authority, user, { ...issuing, clock });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'cluster',
    clusters: [{ name: 'cluster', cluster: { server, 'certificate-authority-data': base64(authority.certPem) } }],
    users: [
      { name: user.name, user: { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) } },
    ],
    contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: user.name } }],
  };
  writeFileSync(file, stringify(config));
  chmodSync(file, 0o600);
}

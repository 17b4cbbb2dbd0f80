/** People and programs with kubeconfigs of their own, which have all contexts of a tree, and the grants that give them rights. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { banyan, kubectlBy, type LocalTree } from './local-tree.ts';

export class People {
  readonly #tree: LocalTree;
  readonly #directory: string;

  /** `directory`: gets a folder for each person. kubectl keeps the served kinds beside a kubeconfig, and they differ from person to person. */
  constructor(tree: LocalTree, directory: string) {
    this.#tree = tree;
    this.#directory = directory;
  }

  /** Makes a certificate with `banyan user add`. `args`: such as --group. Throws if the command fails. */
  add(name: string, ...args: string[]): void {
    const { code, stdout, out } = banyan('user', 'add', name, ...args, '--data', this.#tree.data);
    if (code !== 0) throw new Error(out);
    this.#write(name, stdout);
  }

  /** `user`: as in a kubeconfig. Empty: somebody without a certificate. */
  identify(name: string, user: object): void {
    const config = parse(readFileSync(join(this.#tree.data, 'kubeconfig'), 'utf8')) as { users: { user: object }[] };
    for (const one of config.users) one.user = user;
    this.#write(name, stringify(config));
  }

  /** kubectl with the kubeconfig of the person. */
  as(name: string, context: string, ...args: string[]) {
    return kubectlBy(this.fileOf(name), ['--context', context, ...args]);
  }

  fileOf(name: string): string {
    return join(this.#directory, name, 'kubeconfig');
  }

  #write(name: string, text: string): void {
    mkdirSync(join(this.#directory, name), { recursive: true });
    writeFileSync(this.fileOf(name), text, { mode: 0o600 });
  }
}

/** The user of a kubeconfig with this certificate and key, both in PEM. */
export function certificateUser(certPem: string, keyPem: string): object {
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  return { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) };
}

/** An AccessGrant. `scope`: as in its spec. */
export function grant(name: string, subject: { kind: string; name: string }, role: string, scope: object): object {
  return {
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name },
    spec: { subjects: [subject], roleRef: { kind: 'ClusterRole', name: role }, scope },
  };
}

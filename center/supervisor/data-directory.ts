/** The files of a local tree below its data directory. This class knows the place of each file. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dottedPath } from '../../core/identity/node-path.ts';

export class DataDirectory {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  get kubeconfig(): string {
    return join(this.root, 'kubeconfig');
  }

  /** Certificates and keys of the tree. */
  get pki(): string {
    return join(this.root, 'pki');
  }

  /** The ports of each node. They are kept over restarts, so that kubeconfigs and children have the right addresses. */
  get ports(): string {
    return join(this.root, 'ports.json');
  }

  /** The file with the process that runs this tree. */
  get supervisor(): string {
    return join(this.root, 'supervisor.json');
  }

  /** The record of the tree that runs in this directory: see tree-record.ts. */
  get tree(): string {
    return join(this.root, 'tree.json');
  }

  /** Another topology that the supervisor is asked to take: see change-requests.ts. */
  get wanted(): string {
    return join(this.root, 'wanted.json');
  }

  /** The supervisor's answer to `wanted`. */
  get answer(): string {
    return join(this.root, 'answer.json');
  }

  /** Stores and keys of removed nodes. */
  get removed(): string {
    return join(this.root, 'removed');
  }

  /** The keys with which a node seals its store, if the topology names no others. Without them, the stores can't be opened. */
  keys(path: string): string {
    return join(this.root, 'keys', dottedPath(path));
  }

  get logs(): string {
    return join(this.root, 'logs');
  }

  log(path: string): string {
    return join(this.logs, `${dottedPath(path)}.log`);
  }

  auditLog(path: string): string {
    return join(this.logs, `${dottedPath(path)}-audit.log`);
  }

  config(path: string): string {
    return join(this.root, 'config', `${dottedPath(path)}.yaml`);
  }

  /** Node's own cache of compiled code. It may be removed at any time. */
  get compileCache(): string {
    return join(this.root, 'cache');
  }

  /** The folder with one file for each running node. The file names the node's process. */
  get run(): string {
    return join(this.root, 'run');
  }

  status(path: string): string {
    return join(this.run, `${dottedPath(path)}.json`);
  }

  /** The node's own store. The stores and their keys are the only parts of the directory that can't be made again. */
  store(path: string): string {
    return join(this.root, 'nodes', dottedPath(path));
  }
}

export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function removeFile(file: string): void {
  rmSync(file, { force: true });
}

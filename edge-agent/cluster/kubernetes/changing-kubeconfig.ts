/**
 * A kubeconfig that the agent reads again when the file has changed. So the agent uses renewed tokens and certificates at once. But the agent does not change
 * to another server: its state and its running requests belong to the cluster with which it was started. For another server, the agent has to be started
 * again.
 */
import { stat } from 'node:fs/promises';
import type { Credentials } from '../../../core/kubeconfig/credentials.ts';
import type { ClusterAccess } from '../../../core/kubeconfig/kubeconfig.ts';
import { BanyanError, describeError } from '../../../core/runtime/errors.ts';

export interface KubeconfigEvents {
  /** Called when the file names another server. From now on, the agent sends no request to either server. */
  moved(why: string): void;
  /** Called when the file has changed and can't be used. The agent continues to use the previous content. Sent once for each change. */
  unusable(why: string): void;
}

export interface KubeconfigReading {
  readonly access: ClusterAccess;
  credentials(): Promise<Credentials>;
}

export class ChangingKubeconfig {
  readonly #file: string;
  readonly #read: () => Promise<KubeconfigReading>;
  readonly #events: Partial<KubeconfigEvents>;
  #reading: KubeconfigReading;
  /** The stamp of the file when the agent last looked at it. */
  #stamp: string;

  private constructor(
    file: string,
    read: () => Promise<KubeconfigReading>,
    events: Partial<KubeconfigEvents>,
    first: { readonly reading: KubeconfigReading; readonly stamp: string },
  ) {
    this.#file = file;
    this.#read = read;
    this.#events = events;
    this.#reading = first.reading;
    this.#stamp = first.stamp;
  }

  /** `read` throws BadRequest with the name of the file and the reason why the file can't be used. */
  static async open(
    file: string,
    read: () => Promise<KubeconfigReading>,
    events: Partial<KubeconfigEvents>,
  ): Promise<ChangingKubeconfig> {
    // The stamp is taken before the read. If somebody writes in between, the next look finds another stamp.
    const stamp = await stampOf(file);
    return new ChangingKubeconfig(file, read, events, { stamp, reading: await read() });
  }

  get server(): URL {
    return this.#reading.access.server;
  }

  async credentials(): Promise<Credentials> {
    const stamp = await stampOf(this.#file);
    if (stamp !== this.#stamp) await this.#again(stamp);
    return this.#reading.credentials();
  }

  async #again(stamp: string): Promise<void> {
    let reading: KubeconfigReading;
    try {
      reading = await this.#read();
    } catch (error) {
      // The file may be half written. When the rest is written, the stamp changes again.
      this.#stamp = stamp;
      this.#events.unusable?.(describeError(error));
      return;
    }
    const { server } = reading.access;
    if (server.href !== this.server.href) {
      const why = `${this.#file} names another API server now (${server.href}, before: ${this.server.href})`;
      this.#events.moved?.(why);
      throw new BanyanError('Unavailable', `${why}: this agent sends no request to either before it is started again`);
    }
    this.#stamp = stamp;
    this.#reading = reading;
  }
}

async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(file, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return describeError(error);
  }
}

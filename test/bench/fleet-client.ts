/** A client of the API of a node over one kept connection. It reads answers and does not parse their objects. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';

interface Kubeconfig {
  readonly clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  readonly users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

export interface Page {
  readonly bytes: number;
  /** Empty: the list is complete. */
  readonly continues: string;
}

export class FleetListClient {
  readonly #agent: Agent;
  readonly #server: string;

  constructor(kubeconfig: string, context: string) {
    const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const { cluster } = config.clusters.find(({ name }) => name === context)!;
    const { user } = config.users[0]!;
    const decoded = (data: string) => Buffer.from(data, 'base64');
    this.#server = cluster.server;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  page(path: string, accept = 'application/json'): Promise<Page> {
    return new Promise((resolve, reject) => {
      const asked = request(`${this.#server}${path}`, { agent: this.#agent, headers: { accept } }, (answer) => {
        let bytes = 0;
        let tail = Buffer.alloc(0);
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          tail = Buffer.concat([tail, chunk]).subarray(-tailBytes);
        });
        answer.once('error', reject);
        answer.once('end', () => {
          if (answer.statusCode !== 200) return reject(new Error(`status ${answer.statusCode}: ${tail.toString()}`));
          if (answer.headers.warning) return reject(new Error(`not all clusters answered: ${answer.headers.warning}`));
          resolve({ bytes, continues: /"continue":"([^"]*)"/.exec(tail.toString())?.[1] ?? '' });
        });
      });
      asked.once('error', reject);
      asked.end();
    });
  }

  /** Reads all pages. */
  async whole(path: string, limit: number): Promise<{ bytes: number; pages: number }> {
    let bytes = 0;
    let pages = 0;
    let token = '';
    do {
      const page = await this.page(`${path}?limit=${limit}&continue=${token}`);
      bytes += page.bytes;
      pages += 1;
      token = page.continues;
    } while (token !== '');
    return { bytes, pages };
  }
}

/** The metadata of a list of a fleet is behind its items. */
const tailBytes = 2_048;

/** Asks a node of a local tree whether it is ready. */
import { request } from 'node:https';
import { describeError } from '../../core/runtime/errors.ts';

const askTimeoutMs = 2_000;

/** Undefined: the node is ready. Otherwise the reason why it is not. `url`: of the node's API. */
export function askReady(url: string, caPem: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(`${url}/readyz`, { ca: caPem, timeout: askTimeoutMs, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk.slice(0, 500);
      });
      response.on('end', () =>
        resolve(response.statusCode === 200 ? undefined : body.trim() || `status ${response.statusCode}`),
      );
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
    outgoing.on('error', (error) => resolve(describeError(error)));
    outgoing.end();
  });
}

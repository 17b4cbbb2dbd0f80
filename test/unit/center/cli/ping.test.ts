import { expect, it } from 'vitest';
import { pingLine } from '../../../../center/cli/ping.ts';

const options = { path: 'eu:till', bytes: 0, from: 'center', timeoutSeconds: 5 };

/** The answer of a node of any version. */
function line(health: object): Promise<string> {
  const answer = { path: 'eu:till', role: 'agent', version: '1', roundTripMs: 2, ...health };
  return pingLine({ ask: <T>() => Promise.resolve(answer as T) }, options);
}

it('shows that a node is ready by the node’s own field, whatever other fields there are', async () => {
  expect(await line({ ready: true })).toBe('eu:till: agent 1, ready, 2.0 ms');
  expect(await line({ ready: true, notReady: [] })).toBe('eu:till: agent 1, ready, 2.0 ms');
  expect(await line({ ready: true, notReady: '' })).toBe('eu:till: agent 1, ready, 2.0 ms');
});

it('shows the node’s own reason why it is not ready', async () => {
  expect(await line({ ready: false, notReady: 'waits' })).toBe('eu:till: agent 1, not ready (waits), 2.0 ms');
  expect(await line({ ready: false })).toBe('eu:till: agent 1, not ready, 2.0 ms');
});

import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { readHealth } from '../../../../core/stream/health.ts';

const who = { path: 'eu:till', role: 'agent', version: '1' };
const read = (fields: object) => readHealth(Readable.from([Buffer.from(`${JSON.stringify({ ...who, ...fields })}\n`)]));

it('uses a node’s own message why it is not ready, and no other value as a reason', async () => {
  expect(await read({ ready: false, notReady: 'waits' })).toEqual({ ...who, ready: false, notReady: 'waits' });
  for (const notReady of [[], {}, '', 1]) {
    expect(await read({ ready: true, notReady })).toEqual({ ...who, ready: true });
    expect(await read({ ready: false, notReady })).toEqual({ ...who, ready: false });
  }
  expect(await read({ ready: true, notReady: 'waits' })).toEqual({ ...who, ready: true });
  expect(await read({ ready: 'true' })).toEqual({ ...who, ready: false });
});

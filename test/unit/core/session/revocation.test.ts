import { expect, it } from 'vitest';
import { SessionPair } from '../../../support/session-pair.ts';

const why = 'the certificate of "eu:kid" was revoked';

it('a session ends when the certificates of the child are revoked, and none begins until they count again', async () => {
  const pair = new SessionPair();
  pair.child.session.start();
  await pair.run(100);
  pair.parent.sessions.endRevoked();
  await pair.run(100);
  expect(pair.child.session.connected).toBe(true);
  pair.revoked.child = why;
  pair.parent.sessions.endRevoked();
  await pair.run(2_000);
  expect(pair.child.session.connected).toBe(false);
  expect(pair.refusals).toContain('eu:kid: revoked');
  expect(pair.child.session.unreached).toBe(`revoked: ${why}`);
  delete pair.revoked.child;
  await pair.run(60_000);
  expect(pair.child.session.connected).toBe(true);
});

it('a child leaves a parent whose certificates are revoked, and sends it no Hello', async () => {
  const pair = new SessionPair();
  pair.child.session.start();
  await pair.run(100);
  pair.revoked.parent = why;
  pair.child.session.endRevoked();
  await pair.run(2_000);
  expect(pair.child.session.connected).toBe(false);
  expect(pair.child.session.unreached).toContain(why);
  expect(pair.frames.filter(({ frame }) => frame.frame?.$case === 'hello')).toHaveLength(1);
});

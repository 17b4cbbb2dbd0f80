import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { SessionEnds } from '../../../../core/session/session-ends.ts';
import { measureSessions } from '../../../../core/session/session-metrics.ts';

it('reports the age of the root’s data in seconds, and nothing at the root', async () => {
  const [below, root] = [new Registry(), new Registry()];
  let ageMs = 1_500;
  measureSessions(below, { rootAgeMs: () => ageMs });
  measureSessions(root, { children: new SessionEnds() });
  expect(await below.metrics()).toContain('banyan_root_age_seconds 1.5');
  ageMs = 16_000;
  expect(await below.metrics()).toContain('banyan_root_age_seconds 16');
  expect(await root.metrics()).not.toContain('banyan_root_age_seconds');
});

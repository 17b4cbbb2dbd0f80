import { describe, expect, it } from 'vitest';
import { steadyText, steadyTextMax } from '../../../../core/object/steady-text.ts';

describe('a steady text', () => {
  it.each([
    [
      'the name of a pod and what others use of a quota',
      'pods "web-5d4f8c7b9-x2x7q" is forbidden: exceeded quota: compute, requested: cpu=1,pods=1, used: cpu=4,pods=3, limited: cpu=4,pods=3',
      'pods is forbidden: exceeded quota: compute, requested: cpu=1,pods=1, limited: cpu=4,pods=3',
    ],
    [
      'the time and the pod of a back-off',
      'back-off 2m40s restarting failed container=app pod=web-5d4f8-x2x7q_shop(0f6e1a52-3c2b-4f64-9a1d-2f3d1a0e8b11)',
      'back-off restarting failed container=app',
    ],
    [
      'addresses of pods',
      'Readiness probe failed: Get "http://10.244.1.17:8080/healthz": dial tcp 10.244.1.17:8080: connect: connection refused',
      'Readiness probe failed: Get "http://…/healthz": dial tcp …: connect: connection refused',
    ],
    [
      'what the scheduler says about preemption',
      '0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found.',
      '0/3 nodes are available: 3 Insufficient cpu.',
    ],
    ['line breaks', 'a\n\n  b', 'a b'],
  ])('has no %s', (_what, text, steady) => {
    expect(steadyText(text)).toBe(steady);
    expect(steadyText(steady)).toBe(steady);
  });

  it('keeps the name of the webhook or policy that refuses', () => {
    const text = 'admission webhook "validate.kyverno.svc-fail" denied the request: no "latest" tags';
    expect(steadyText(text)).toBe(text);
  });

  it('has a bounded length', () => {
    expect(steadyText('x'.repeat(10_000))).toHaveLength(steadyTextMax);
  });
});

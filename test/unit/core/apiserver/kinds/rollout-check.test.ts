import { describe, expect, it } from 'vitest';
import { placement, refusal, testSpace } from './space-support.ts';

const [ten, half] = [
  { name: 'ten', fraction: 0.1 },
  { name: 'half', fraction: 0.5 },
];
const side = (name: string) => ({ name, selector: { matchLabels: { side: name } } });
const gated = (gate: object) => ({ waves: [{ ...ten, gates: [gate] }] });
const create = (rollout: object) =>
  testSpace().space.create(placement({ locationSelectors: [{}], rollout: { strategy: 'Progressive', ...rollout } }));
const refused = (rollout: object) => refusal(() => create(rollout)).message;

describe('a rollout', () => {
  it('has defaults that always end it', () => {
    expect((create({}).spec as { rollout: object }).rollout).toEqual({
      strategy: 'Progressive',
      errorBudget: '10%',
      progressDeadlineSeconds: 1800,
      authorizationSeconds: 60,
      onFailure: 'Pause',
    });
  });

  it.each([
    [{ waves: [ten, half, { name: 'all', fraction: 1 }] }],
    [{ waves: [{ name: 'one', count: 1 }, { name: 'ring', selector: { matchLabels: { ring: 'a' } } }, half] }],
    [{ maxUnavailable: 3, errorBudget: '2.5%', ratePerMinute: 10, paused: true }],
    [{ strategy: 'BlueGreen', waves: [side('blue'), side('green')] }],
    [gated({ expression: 'available/expected >= 0.99', minimumSample: 3, minimumFresh: 0.9 })],
    [gated({ rolloutGate: 'threat-level' })],
    [gated({ webhook: { url: 'https://gate.example/ask' } })],
    [gated({ webhook: { url: 'http://127.0.0.1:8080/ask' } })],
  ])('%j is valid', (rollout) => {
    expect(create(rollout).metadata.generation).toBe(1);
  });

  it.each([
    [{ waves: [half, ten] }, 'spec.rollout.waves[1].fraction: Invalid value: 0.1: must be greater than the 0.5'],
    [{ waves: [ten, { ...ten, name: 'again' }] }, 'must be greater than the 0.1'],
    [{ waves: [{ name: 'a', count: 5 }, ten, { name: 'b', count: 4 }] }, 'waves[2].count: Invalid value: 4'],
    [{ waves: [{ name: 'a', fraction: 1.5 }] }, 'spec.rollout.waves[0].fraction'],
    [{ waves: [{ name: 'a', count: 0 }] }, 'spec.rollout.waves[0].count'],
    [{ waves: [{ name: 'a', fraction: 0 }] }, 'waves[0].fraction: Invalid value: 0: nobody belongs to the wave'],
    [
      { maxUnavailable: '0%' },
      'maxUnavailable: Invalid value: "0%": must be an integer of at least 1, or a share above 0%',
    ],
    [
      gated({ rolloutGate: 'Bad Name' }),
      'gates[0].rolloutGate: Invalid value: "Bad Name": no RolloutGate has this name',
    ],
    [
      gated({ webhook: { url: 'https://gate.example/ask', caBundle: 'aGVsbG8=' } }),
      'gates[0].webhook.caBundle: Invalid value: "…": must be certificates in PEM, in base64',
    ],
    [{ waves: [{ name: 'a' }] }, 'give one of selector, fraction and count: it decides who belongs to the wave'],
    [{ waves: [{ name: 'a', fraction: 0.1, count: 1 }] }, 'fraction and count exclude each other: keep one'],
    [{ waves: [ten, { ...half, name: 'ten' }] }, 'Duplicate value'],
    [
      { waves: [{ ...ten, soakSeconds: 1801 }] },
      'the wave would never end: it is more than progressDeadlineSeconds (1800)',
    ],
    [
      { waves: [{ name: 'a', selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }] },
      'waves[0].selector.matchExpressions[0].values',
    ],
    [{ maxUnavailable: 0 }, 'spec.rollout.maxUnavailable: Invalid value: 0: must be an integer of at least 1'],
    [
      { errorBudget: 'ten' },
      'spec.rollout.errorBudget: Invalid value: "ten": must be an integer of at least 0, or a share',
    ],
    [{ errorBudget: '101%' }, 'spec.rollout.errorBudget'],
    [{ strategy: 'BlueGreen', waves: [side('blue')] }, 'needs exactly two waves, each with a selector'],
    [{ strategy: 'BlueGreen', waves: [side('blue'), half] }, 'needs exactly two waves, each with a selector'],
    [{ strategy: 'Sometimes' }, 'spec.rollout.strategy'],
    [gated({}), 'spec.rollout.waves[0].gates[0]: Required value: give one of expression, rolloutGate and webhook'],
    [gated({ expression: 'true', rolloutGate: 'a' }), 'expression and rolloutGate exclude each other'],
    [gated({ rolloutGate: 'a', minimumSample: 1 }), 'minimumSample and minimumFresh belong to an expression'],
    [gated({ expression: 'available >' }), 'gates[0].expression: Invalid value: "available >": compilation failed'],
    [gated({ expression: 'available/expected' }), 'must be of type bool, is double'],
    [gated({ expression: 'availabel > 1.0' }), 'unknown variable: availabel'],
    [gated({ expression: 'failed == 0' }), 'counts are doubles: write 3.0 for 3'],
    [gated({ webhook: { url: 'http://gate.example/ask' } }), 'must be a URL with https, or with http to localhost'],
    [gated({ webhook: { url: 'gate' } }), 'gates[0].webhook.url: Invalid value: "gate"'],
    [gated({ webhook: { url: 'https://user:secret@gate.example' } }), 'must hold no password'],
  ])('%j is refused, with the field and the remedy', (rollout, message) => {
    expect(refused(rollout)).toContain(message);
  });

  it('never shows a password that it refuses', () => {
    expect(refused(gated({ webhook: { url: 'https://user:secret@gate.example' } }))).not.toContain('secret');
  });
});

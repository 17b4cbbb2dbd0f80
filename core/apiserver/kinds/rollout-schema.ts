/** The fields of an EdgePlacement for rollouts: how releases go out, and the progress of a release. */
import { countMax, wavesMax } from '../../rollout/part.ts';

import { boolean, integer, labelSelector, list, listByKey, object, string } from './schema-builders.ts';

const name = (description: string) =>
  string(description, { minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' });
const amount = (description: string, more: object = {}) => ({
  description,
  'x-kubernetes-int-or-string': true,
  ...more,
});
/** Bounded, because the origin asks one gate after the other. */
const gatesMax = 8;
const dayS = 86_400;

const gate = object('One gate: exactly one of expression, rolloutGate and webhook.', {
  name: name('For messages.'),
  expression: string(
    'CEL over counts of destinations, as doubles: total, expected (the connected destinations), fresh, exposed, available and failed. They cover all waves so far. Under wave, the same counts cover this wave alone.',
    { minLength: 1, maxLength: 4096 },
  ),
  minimumSample: integer('The expression is not evaluated while fewer destinations are connected. The default is 1.', {
    minimum: 0,
    maximum: 1_000_000,
  }),
  minimumFresh: {
    type: 'number',
    description: 'The expression is not evaluated while a smaller share of the destinations is connected.',
    minimum: 0,
    maximum: 1,
  },
  rolloutGate: string('Name of a RolloutGate whose status.phase has to be Passed.', { minLength: 1, maxLength: 253 }),
  webhook: object(
    'The node sends a POST with {placement, source, release, wave, summary}. The answer is {"passed": bool, "message": string}.',
    {
      url: string(
        'https, or http to this machine. egress of the node decides which addresses the node calls; by default, it calls no loopback address.',
        { minLength: 1, maxLength: 2048 },
      ),
      timeoutSeconds: integer('How long the answer may take. The default is 10.', { minimum: 1, maximum: 30 }),
      caBundle: string('Certificates to trust, as PEM in base64. Left out: the usual ones.', { maxLength: 131_072 }),
    },
    { required: ['url'] },
  ),
});

const wave = object(
  'One wave. Exactly one of selector, fraction and count decides which destinations belong to it. A destination that fits two waves is in the first.',
  {
    name: name('For messages, and for gates.'),
    selector: labelSelector('Locations with these labels.'),
    fraction: {
      type: 'number',
      description: 'This share of all destinations. A hash chooses them, differently for each release.',
      minimum: 0,
      maximum: 1,
    },
    count: integer('This number of all destinations.', { minimum: 1, maximum: countMax }),
    soakSeconds: integer('How long the wave has to be healthy before its gates are asked.', {
      minimum: 0,
      maximum: 30 * dayS,
    }),
    gates: list('Gates that have to pass before the next wave begins.', gate, { maxItems: gatesMax }),
  },
  { required: ['name'] },
);

/** `EdgePlacement.spec.rollout` */
export const rolloutSpec = object('How a change of the objects goes out to the destinations.', {
  strategy: string(
    'All: everywhere at once. Progressive: in waves. BlueGreen: in two waves, the second after an approval.',
    {
      enum: ['All', 'Progressive', 'BlueGreen'],
      default: 'All',
    },
  ),
  waves: listByKey('Waves in this order. All remaining destinations are the last wave.', ['name'], wave, {
    maxItems: wavesMax,
  }),
  maxUnavailable: amount(
    'Maximal number of destinations that have the release and are not available: a number, or a share such as 10%.',
  ),
  errorBudget: amount('The release stops at this number of failed destinations: a number, or a share such as 10%.', {
    default: '10%',
  }),
  ratePerMinute: integer('Maximal number of destinations that get a release in one minute.', {
    minimum: 1,
    maximum: 1_000_000,
  }),
  progressDeadlineSeconds: integer('A release without progress for this time has failed.', {
    minimum: 1,
    maximum: 30 * dayS,
    default: 1800,
  }),
  authorizationSeconds: integer(
    'A relay without a renewal from the origin for this time stops handing out a release.',
    {
      minimum: 3,
      maximum: dayS,
      default: 60,
    },
  ),
  onFailure: string(
    'Pause: destinations that have the release keep it. Rollback: all destinations get the objects that were promoted before.',
    { enum: ['Pause', 'Rollback'], default: 'Pause' },
  ),
  paused: boolean('True: no further destination gets the release.'),
});

function count(description: string) {
  return integer(description, { minimum: 0 });
}

/** `EdgePlacement.status.rollout` */
export const rolloutStatusSchema = object('The progress of the release.', {
  release: count('Number of the release. A rollback is a release too.'),
  phase: string('Phase of the release.', {
    enum: ['Promoted', 'Progressing', 'Soaking', 'WaitingForGate', 'WaitingForApproval', 'Paused', 'RolledBack'],
  }),
  wave: string('Name of the present wave.'),
  message: string('The progress in a sentence, with the reason for waiting.'),
  expected: count('Connected destinations of the waves so far.'),
  exposed: count('Connected destinations that have the release.'),
  available: count('Connected destinations at which the release is available.'),
  failed: count('Connected destinations at which the release fails.'),
});

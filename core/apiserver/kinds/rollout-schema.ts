/** Rollout: the pieces of an EdgePlacement that say how releases go out and where one is. */
import { countMax, wavesMax } from '../../rollout/part.ts';

import { boolean, integer, labelSelector, list, listByKey, object, string } from './schema-builders.ts';

const name = (description: string) =>
  string(description, { minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' });
const amount = (description: string, more: object = {}) => ({
  description,
  'x-kubernetes-int-or-string': true,
  ...more,
});
/** Gates are asked one after the other. */
const gatesMax = 8;
const dayS = 86_400;

const gate = object('One gate: exactly one of expression, rolloutGate and webhook.', {
  name: name('For messages.'),
  expression: string(
    'CEL over doubles: total, expected (the connected ones), fresh, exposed, available and failed of the waves so far, and the same of this wave alone under wave.',
    { minLength: 1, maxLength: 4096 },
  ),
  minimumSample: integer('The expression is not asked while fewer destinations are connected; 1 if left out.', {
    minimum: 0,
    maximum: 1_000_000,
  }),
  minimumFresh: {
    type: 'number',
    description: 'The expression is not asked while a smaller share of the destinations is connected.',
    minimum: 0,
    maximum: 1,
  },
  rolloutGate: string('Name of a RolloutGate that has to say Passed.', { minLength: 1, maxLength: 253 }),
  webhook: object(
    'Asked with a POST of {placement, source, release, wave, summary}; answers {"passed": bool, "message": string}.',
    {
      url: string('https, or http to this machine.', { minLength: 1, maxLength: 2048 }),
      timeoutSeconds: integer('How long the answer may take; 10 if left out.', { minimum: 1, maximum: 30 }),
      caBundle: string('Certificates to trust, PEM in base64; the usual ones if left out.', { maxLength: 131_072 }),
    },
    { required: ['url'] },
  ),
});

const wave = object(
  'One wave: exactly one of selector, fraction and count says who belongs to it; who belongs to two is in the first.',
  {
    name: name('For messages, and for gates.'),
    selector: labelSelector('Locations with these labels.'),
    fraction: {
      type: 'number',
      description: 'This share of all destinations, by a hash that is another one for each release.',
      minimum: 0,
      maximum: 1,
    },
    count: integer('So many of all destinations.', { minimum: 1, maximum: countMax }),
    soakSeconds: integer('How long it has to be well before its gates are asked.', { minimum: 0, maximum: 30 * dayS }),
    gates: list('What has to pass before the next wave begins.', gate, { maxItems: gatesMax }),
  },
  { required: ['name'] },
);

/** `EdgePlacement.spec.rollout` */
export const rolloutSpec = object('How a change of the objects goes out.', {
  strategy: string(
    'All: everywhere at once. Progressive: in waves. BlueGreen: in two waves, the second after an approval.',
    {
      enum: ['All', 'Progressive', 'BlueGreen'],
      default: 'All',
    },
  ),
  waves: listByKey('In this order; what is left is the last wave.', ['name'], wave, { maxItems: wavesMax }),
  maxUnavailable: amount(
    'Destinations that may have a release and not be available: a number, or a share such as 10%.',
  ),
  errorBudget: amount('Failed destinations at which the release is stopped: a number, or a share such as 10%.', {
    default: '10%',
  }),
  ratePerMinute: integer('Destinations that get a release in a minute, at most.', { minimum: 1, maximum: 1_000_000 }),
  progressDeadlineSeconds: integer('A release that gets no further for so long has failed.', {
    minimum: 1,
    maximum: 30 * dayS,
    default: 1800,
  }),
  authorizationSeconds: integer(
    'A relay that has no report of the origin for so long hands out nothing more of a release.',
    {
      minimum: 3,
      maximum: dayS,
      default: 60,
    },
  ),
  onFailure: string('Pause: what has the release keeps it. Rollback: everything gets what was promoted before.', {
    enum: ['Pause', 'Rollback'],
    default: 'Pause',
  }),
  paused: boolean('Nothing more is handed out.'),
});

function count(description: string) {
  return integer(description, { minimum: 0 });
}

/** `EdgePlacement.status.rollout` */
export const rolloutStatusSchema = object('Where the release is.', {
  release: count('Its number; a rollback is one too.'),
  phase: string('What it is at.', {
    enum: ['Promoted', 'Progressing', 'Soaking', 'WaitingForGate', 'WaitingForApproval', 'Paused', 'RolledBack'],
  }),
  wave: string('Name of the wave that it is at.'),
  message: string('The same for people, with what it waits for.'),
  expected: count('Connected destinations of the waves so far.'),
  exposed: count('Those among them that have the release.'),
  available: count('Those where it is available.'),
  failed: count('Those where it fails.'),
});

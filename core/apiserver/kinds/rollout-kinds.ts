/** RolloutGate: a wave waits until another program writes its answer into the status of this object. */
import { edgeGroup } from './edge-placement.ts';
import { definition, integer, object, string, time } from './schema-builders.ts';

export const rolloutGateDefinition = definition({
  group: edgeGroup,
  names: { plural: 'rolloutgates', kind: 'RolloutGate', shortNames: ['rg'] },
  description: 'Decides whether a release goes on to its next wave. Another program writes the status.',
  spec: object('The purpose of the gate.', { description: string('For people.', { maxLength: 4096 }) }),
  status: object('The answer of the other program.', {
    phase: string('Passed: the release goes on. Failed: the release stops. Waiting: like no status.', {
      enum: ['Passed', 'Failed', 'Waiting'],
    }),
    message: string('The reason, for people.', { maxLength: 1024 }),
    release: integer('The release that the answer is about. Left out: every release.', { minimum: 0 }),
    wave: string('The wave that the answer is about. Left out: every wave.', { maxLength: 63 }),
    observedTime: time('When the other program decided.'),
  }),
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Message', type: 'string', jsonPath: '.status.message' },
    { name: 'Release', type: 'integer', jsonPath: '.status.release', priority: 1 },
    { name: 'Wave', type: 'string', jsonPath: '.status.wave', priority: 1 },
  ],
});

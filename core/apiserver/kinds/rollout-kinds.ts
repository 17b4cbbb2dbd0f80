/** RolloutGate: what a wave waits for, answered by another program. */
import { edgeGroup } from './edge-kinds.ts';
import { definition, integer, object, string, time } from './schema-builders.ts';

export const rolloutGateDefinition = definition({
  group: edgeGroup,
  names: { plural: 'rolloutgates', kind: 'RolloutGate', shortNames: ['rg'] },
  description: 'Lets a release pass, or not: another program writes its status.',
  spec: object('What it is about.', { description: string('For people.', { maxLength: 4096 }) }),
  status: object('What the other program says.', {
    phase: string('Failed stops the release; Waiting is the same as nothing.', {
      enum: ['Passed', 'Failed', 'Waiting'],
    }),
    message: string('Why, for people.', { maxLength: 1024 }),
    release: integer('The release that it speaks of; of any if left out.', { minimum: 0 }),
    wave: string('The wave that it speaks of; of any if left out.', { maxLength: 63 }),
    observedTime: time('When it looked.'),
  }),
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Message', type: 'string', jsonPath: '.status.message' },
    { name: 'Release', type: 'integer', jsonPath: '.status.release', priority: 1 },
    { name: 'Wave', type: 'string', jsonPath: '.status.wave', priority: 1 },
  ],
});

/** Customizer: what one object is at each destination. Written by workload teams, beside their objects. */
import { edgeGroup } from './edge-kinds.ts';
import { definition, labelSelector, list, object, rule, string } from './schema-builders.ts';

/** A team splits what needs more: each is worked off for each object and destination. */
const rulesMax = 64;
const patchesMax = 64;
const expressionCharactersMax = 4096;

const anything = { 'x-kubernetes-preserve-unknown-fields': true } as const;

const target = object(
  'Which objects the rule is for: fields are ANDed. Left out: all that the Customizer is used for.',
  {
    group: string('API group; empty for the core group.', { maxLength: 253 }),
    kind: string('Kind, such as Deployment.', { maxLength: 63 }),
    name: string('Name of the object.', { maxLength: 253 }),
    labelSelector: labelSelector('Selects objects by their labels.'),
  },
);

const patch = object(
  'A JSON Patch operation (op, path, from, value), or a strategic merge patch (merge).',
  {
    op: string('Of JSON Patch: add, remove, replace, move, copy or test.'),
    path: string('JSON pointer to the field, such as /data/text.', { maxLength: 4096 }),
    from: string('JSON pointer to where move and copy take the value from.', { maxLength: 4096 }),
    value: {
      description:
        'Of add, replace and test. Strings may hold CEL in ${{ }}: a string that is one expression and nothing else takes the type of its value, and $${{ stands for the characters themselves.',
      ...anything,
    },
    merge: {
      type: 'object',
      description: 'Fields as they are to be, null for one that is to go; ${{ CEL }} in strings as in value.',
      ...anything,
    },
  },
  { 'x-kubernetes-validations': [rule('has(self.op) != has(self.merge)', 'an item has either op or merge')] },
);

export const customizerDefinition = definition({
  group: edgeGroup,
  scope: 'Namespaced',
  names: { plural: 'customizers', kind: 'Customizer', shortNames: ['cust'] },
  description:
    'What an object is at each destination. Used by the annotation edge.banyan.io/customizer of an object or by customizers of a rule of an EdgePlacement; evaluated by the parent of the agent. Expressions see location, syncTarget, properties, path and object.',
  spec: object('Rules first, then replacements, each in order.', {
    rules: list(
      'Patches under conditions; expressions of a rule see the object as the rules before it have left it.',
      object(
        'One rule.',
        {
          when: string('CEL that must be true for the rule to be worked off; left out: always.', {
            minLength: 1,
            maxLength: expressionCharactersMax,
          }),
          target,
          patch: list('What is done, in order.', patch, { minItems: 1, maxItems: patchesMax }),
        },
        { required: ['patch'] },
      ),
      { maxItems: rulesMax },
    ),
    replacements: list(
      'Values by JSONPath, for every object that the Customizer is used for.',
      object(
        'One value.',
        {
          path: string('JSONPath, such as $.data.text or $.spec.template.spec.containers[0].image.', {
            minLength: 1,
            maxLength: 1024,
          }),
          value: { description: 'What is there afterwards; ${{ CEL }} in strings as in a patch.', ...anything },
        },
        { required: ['path', 'value'] },
      ),
      { maxItems: patchesMax },
    ),
  }),
  columns: [],
});

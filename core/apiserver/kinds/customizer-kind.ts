/** Customizer: rules that change an object for each destination. Workload teams write Customizers in the same namespaces as their objects. */
import { edgeGroup } from './edge-placement.ts';
import { definition, labelSelector, list, object, rule, string } from './schema-builders.ts';

/**
 * Bounds of one Customizer, because its rules are evaluated for each object and each destination. A team that needs more rules writes several Customizers.
 */
const rulesMax = 64;
const patchesMax = 64;
const expressionCharactersMax = 4096;

const anything = { 'x-kubernetes-preserve-unknown-fields': true } as const;

const target = object(
  'Which objects the rule applies to: fields are ANDed. Left out: all objects that use the Customizer.',
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
    op: string('The operation of JSON Patch: add, remove, replace, move, copy or test.'),
    path: string('JSON pointer to the field, such as /data/text.', { maxLength: 4096 }),
    from: string('For move and copy: JSON pointer to the field with the value.', { maxLength: 4096 }),
    value: {
      description:
        'For add, replace and test. Strings may contain CEL in ${{ }}. A string that is one expression and nothing else becomes the value of the expression, with its type. $${{ stands for the characters ${{.',
      ...anything,
    },
    merge: {
      type: 'object',
      description: 'The new fields. null removes a field. Strings may contain ${{ CEL }} as in value.',
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
    'The form of an object at each destination. An object uses a Customizer by its annotation edge.banyan.io/customizer, or by customizers of a rule of an EdgePlacement. The parent of the agent evaluates it. Expressions see location, syncTarget, properties, path and object.',
  spec: object('Rules are applied first, then replacements, each in order.', {
    rules: list(
      'Patches with conditions. The expressions of a rule see the object as the rules before it have changed it.',
      object(
        'One rule.',
        {
          when: string('CEL. The rule applies only if the result is true. Left out: always.', {
            minLength: 1,
            maxLength: expressionCharactersMax,
          }),
          target,
          patch: list('The changes, in order.', patch, { minItems: 1, maxItems: patchesMax }),
        },
        { required: ['patch'] },
      ),
      { maxItems: rulesMax },
    ),
    replacements: list(
      'Values by JSONPath, for every object that uses the Customizer.',
      object(
        'One value.',
        {
          path: string('JSONPath, such as $.data.text or $.spec.template.spec.containers[0].image.', {
            minLength: 1,
            maxLength: 1024,
          }),
          value: { description: 'The new value. Strings may contain ${{ CEL }} as in a patch.', ...anything },
        },
        { required: ['path', 'value'] },
      ),
      { maxItems: patchesMax },
    ),
  }),
  columns: [],
});

/** Short functions to write the structural schemas of the mesh's own kinds. */
import { checkDnsSubdomain } from '../../object/names.ts';
import type {
  CustomResourceDefinition,
  DefinitionColumn,
  DefinitionNames,
  SchemaProps,
  ValidationRule,
} from '../crd/definition.ts';

export type Properties = Record<string, SchemaProps>;

export function object(description: string, properties: Properties, more: SchemaProps = {}): SchemaProps {
  return { type: 'object', description, properties, ...more };
}

export function string(description: string, more: SchemaProps = {}): SchemaProps {
  return { type: 'string', description, ...more };
}

/** Integers with which a node calculates. So they are integers that a double holds. */
export function integer(description: string, more: SchemaProps = {}): SchemaProps {
  const [minimum, maximum] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  return { type: 'integer', format: 'int64', description, minimum, maximum, ...more };
}

export function boolean(description: string, more: SchemaProps = {}): SchemaProps {
  return { type: 'boolean', description, ...more };
}

export function time(description: string): SchemaProps {
  return { type: 'string', format: 'date-time', description };
}

export function list(description: string, items: SchemaProps, more: SchemaProps = {}): SchemaProps {
  return { type: 'array', description, items, ...more };
}

export function listByKey(
  description: string,
  keys: string[],
  items: SchemaProps,
  more: SchemaProps = {},
): SchemaProps {
  return list(description, items, {
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': keys,
    ...more,
  });
}

export function strings(description: string, more: SchemaProps = {}): SchemaProps {
  return list(description, { type: 'string' }, more);
}

export function stringMap(description: string, more: SchemaProps = {}): SchemaProps {
  return { type: 'object', description, additionalProperties: { type: 'string' }, ...more };
}

/** A map from resource names to quantities, like a Node's capacity. */
export function quantities(description: string): SchemaProps {
  return { type: 'object', description, additionalProperties: { 'x-kubernetes-int-or-string': true } };
}

export function rule(text: string, message: string): ValidationRule {
  return { rule: text, message };
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'] as const;

/**
 * A label selector. Admission checks whether its parts are consistent (core/object/label-selector-check.ts), because a CEL rule would give a worse message.
 */
export function labelSelector(description: string): SchemaProps {
  return object(description, {
    matchLabels: stringMap('Labels that must exist with exactly these values.'),
    matchExpressions: list(
      'Requirements, all of which must hold.',
      object(
        'One requirement on one label.',
        {
          key: string('The label.'),
          operator: string('How the label relates to the values.', { enum: [...operators] }),
          values: strings(
            'For In and NotIn: at least one value. For Gt and Lt: one integer. For Exists and DoesNotExist: no value.',
          ),
        },
        { required: ['key', 'operator'] },
      ),
    ),
  });
}

export const conditions: SchemaProps = listByKey(
  'The latest observations, one of each type.',
  ['type'],
  object(
    'One observation.',
    {
      type: string('The type of the condition.', { maxLength: 316 }),
      status: string('Whether the condition holds.', { enum: ['True', 'False', 'Unknown'] }),
      reason: string('The reason, in one word.', { maxLength: 1024 }),
      message: string('The reason, in a sentence for people.', { maxLength: 32_768 }),
      lastTransitionTime: time('When status changed last.'),
      observedGeneration: integer('The generation of the object that this condition is about.', { minimum: 0 }),
    },
    { required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'] },
  ),
);

export const age: DefinitionColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** A definition with one version, v1alpha1, in the category `banyan`. The default scope is Cluster. */
export function definition(of: {
  group: string;
  scope?: 'Namespaced';
  names: DefinitionNames;
  description: string;
  spec?: SchemaProps;
  /** Absent if the kind has no status. */
  status?: SchemaProps;
  /** Additional fields of the object, next to spec and status. */
  more?: Properties;
  /** Additional properties of the root schema, for example rules about the whole object. */
  root?: SchemaProps;
  columns: DefinitionColumn[];
  /** Paths that a field selector may use, for example `.spec.path`. */
  selectable?: string[];
}): CustomResourceDefinition {
  const name = `${of.names.plural}.${of.group}`;
  const wrong = checkDnsSubdomain(name);
  if (wrong) throw new Error(`${name}: ${wrong}`);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: of.group,
      scope: of.scope ?? 'Cluster',
      names: {
        singular: of.names.kind.toLowerCase(),
        listKind: `${of.names.kind}List`,
        ...of.names,
        categories: ['banyan'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          ...(of.status ? { subresources: { status: {} } } : {}),
          additionalPrinterColumns: [...of.columns, age],
          ...(of.selectable ? { selectableFields: of.selectable.map((jsonPath) => ({ jsonPath })) } : {}),
          schema: {
            openAPIV3Schema: object(
              of.description,
              { ...(of.spec ? { spec: of.spec } : {}), ...of.more, ...(of.status ? { status: of.status } : {}) },
              of.root,
            ),
          },
        },
      ],
    },
  };
}

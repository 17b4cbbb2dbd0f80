import { describe, expect, it } from 'vitest';
import type {
  CustomResourceDefinition,
  DefinitionVersion,
  SchemaProps,
} from '../../../../../core/apiserver/crd/definition.ts';
import { checkDefinition } from '../../../../../core/apiserver/crd/definition-admission.ts';
import { refusal, testSpace } from '../kinds/space-support.ts';
import { boards } from './support.ts';

const root = 'spec.versions[0].schema.openAPIV3Schema';
const x = `${root}.properties[spec].properties[x]`;

function texts(definition: CustomResourceDefinition, old?: CustomResourceDefinition): string[] {
  return checkDefinition(definition, old).map(({ field, message }) => `${field}: ${message}`);
}

function ofSchema(property: SchemaProps): string[] {
  return texts(boards({ type: 'object', properties: { x: property } }));
}

function changed(change: (definition: CustomResourceDefinition) => void): string[] {
  const definition = boards({ type: 'object' });
  change(definition);
  return texts(definition);
}

function ofVersion(more: Partial<DefinitionVersion>): string[] {
  const status: SchemaProps = { type: 'object', properties: { n: { type: 'integer' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec: status, status } } };
  return texts(boards({ type: 'object' }, { schema, ...more }));
}

describe('a definition', () => {
  it('is accepted in its simplest form', () => {
    expect(changed(() => {})).toEqual([]);
  });

  it.each<[string, (definition: CustomResourceDefinition) => void, string]>([
    [
      'another name',
      (d) => {
        d.metadata.name = 'x';
      },
      'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
    ],
    [
      'no domain',
      (d) => {
        d.spec.group = 'shop';
        d.metadata.name = 'boards.shop';
      },
      'spec.group: Invalid value: "shop": should be a domain with at least one dot',
    ],
    [
      'no scope',
      (d) => {
        Reflect.deleteProperty(d.spec, 'scope');
      },
      'spec.scope: Required value',
    ],
    [
      'a kind that is no word',
      (d) => {
        d.spec.names.kind = 'My Board';
      },
      'spec.names.kind: Invalid value: "My Board": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or \'-\', start with an alphabetic character, and end with an alphanumeric character',
    ],
    [
      'no version',
      (d) => {
        d.spec.versions = [];
      },
      'spec.versions: Required value: must have at least one version',
    ],
    [
      'no stored version',
      (d) => {
        d.spec.versions[0]!.storage = false;
      },
      'spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version',
    ],
    [
      'a version twice',
      (d) => {
        d.spec.versions.push({ ...d.spec.versions[0]!, storage: false });
      },
      'spec.versions[1].name: Duplicate value: "v1"',
    ],
    [
      'no schema',
      (d) => {
        delete d.spec.versions[0]!.schema;
      },
      `${root}: Required value: schemas are required`,
    ],
    [
      'a conversion by webhook without a webhook',
      (d) => {
        d.spec.conversion = { strategy: 'Webhook' };
      },
      'spec.conversion.webhook: Required value: required when strategy is set to Webhook',
    ],
    [
      'a webhook at two places',
      (d) => {
        const clientConfig = { url: 'https://hook.example.com/', service: { name: 'hook', namespace: 'net-system' } };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      'spec.conversion.webhook.clientConfig: Required value: exactly one of url or service is required',
    ],
    [
      'a webhook that no API server understands',
      (d) => {
        const clientConfig = { url: 'https://hook.example.com/' };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v9'] } };
      },
      'spec.conversion.webhook.conversionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
    ],
    [
      'a webhook without encryption',
      (d) => {
        const clientConfig = { url: 'http://hook.example.com/' };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      'spec.conversion.webhook.clientConfig.url: Invalid value: "http://hook.example.com/": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
    ],
    [
      'a webhook of an unnamed service',
      (d) => {
        const clientConfig = { service: { name: 'hook' } };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      'spec.conversion.webhook.clientConfig.service.namespace: Required value: service namespace is required',
    ],
  ])('with %s is refused', (_, change, message) => {
    expect(changed(change)).toEqual([message]);
  });

  it.each<[string, Partial<DefinitionVersion>, string]>([
    [
      'a column of no type',
      { additionalPrinterColumns: [{ name: 'A', type: 'colour', jsonPath: '.spec.a' }] },
      'additionalPrinterColumns[0].type: Unsupported value: "colour": supported values: "integer", "number", "string", "boolean", "date"',
    ],
    [
      'a scale outside of spec',
      { subresources: { scale: { specReplicasPath: '.status.n', statusReplicasPath: '.status.n' } } },
      'subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec.',
    ],
    [
      'a selectable field that is not there',
      { selectableFields: [{ jsonPath: '.spec.m' }] },
      'selectableFields[0].jsonPath: Invalid value: ".spec.m": is an invalid path: does not refer to a valid field',
    ],
    [
      'a selectable object',
      { selectableFields: [{ jsonPath: '.spec' }] },
      'selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    ],
  ])('with %s is refused', (_, more, message) => {
    expect(ofVersion(more)).toEqual([`spec.versions[0].${message}`]);
  });

  it('with valid columns, scale and selectable fields is accepted', () => {
    const more: Partial<DefinitionVersion> = {
      additionalPrinterColumns: [{ name: 'N', type: 'integer', jsonPath: '.spec.n' }],
      subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
      selectableFields: [{ jsonPath: '.spec.n' }],
    };
    expect(ofVersion(more)).toEqual([]);
  });
});

describe('a schema', () => {
  it.each<[string, SchemaProps, string]>([
    ['without a type', {}, `${x}.type: Required value: must not be empty for specified object fields`],
    [
      'of an unknown type',
      { type: 'int' },
      `${x}.type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
    ['of a list without items', { type: 'array' }, `${x}.items: Required value: must be specified`],
    [
      'of items without a type',
      { type: 'array', items: {} },
      `${x}.items.type: Required value: must not be empty for specified array items`,
    ],
    [
      'with uniqueItems',
      { type: 'array', uniqueItems: true, items: { type: 'string' } },
      `${x}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
    [
      'with both kinds of properties',
      { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
      `${x}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    [
      'with additionalProperties false',
      { type: 'object', additionalProperties: false },
      `${x}.additionalProperties: Forbidden: additionalProperties cannot be set to false`,
    ],
    [
      'with a type in a junctor',
      { type: 'string', anyOf: [{ type: 'string' }] },
      `${x}.anyOf[0].type: Forbidden: must be empty to be structural`,
    ],
    [
      'with a property in a junctor only',
      { type: 'object', properties: {}, anyOf: [{ properties: { a: {} } }] },
      `${x}.anyOf[0].properties[a]: Required value: must be specified outside of the junctor too`,
    ],
    [
      'with a bad pattern',
      { type: 'string', pattern: '(' },
      `${x}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
    ],
    [
      'of a map list without keys',
      { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } },
      `${x}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
    ],
    [
      'of a map list with a key that may be missing',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a'],
        items: { type: 'object', properties: { a: { type: 'string' } } },
      },
      `${x}.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
    [
      'of a set of granular objects',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } },
      `${x}.items: Invalid value: "object": items of x-kubernetes-list-type set must be scalar or atomic`,
    ],
    [
      'with int-or-string and a type',
      { type: 'string', 'x-kubernetes-int-or-string': true },
      `${x}.type: Invalid value: "string": must be empty if x-kubernetes-int-or-string is true`,
    ],
    [
      'of an embedded resource without properties',
      { type: 'object', 'x-kubernetes-embedded-resource': true },
      `${x}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
    ],
    [
      'with a default of the wrong type',
      { type: 'integer', default: 'x' },
      `${x}.default: Invalid value: "string":  in body must be of type integer: "string"`,
    ],
    [
      'with a default that has unknown fields',
      { type: 'object', properties: {}, default: { a: 1 } },
      `${x}.default: Invalid value: {"a":1}: must not have unknown fields: a`,
    ],
  ])('%s is not structural', (_, schema, message) => {
    expect(ofSchema(schema)).toEqual([message]);
  });

  it.each<[string, SchemaProps]>([
    [
      'int-or-string with its usual companions',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    ],
    ['anything', { 'x-kubernetes-preserve-unknown-fields': true }],
    [
      'junctors over known properties',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        oneOf: [{ required: ['a'] }, { properties: { a: { enum: ['x'] } } }],
      },
    ],
    [
      'a default with parts that have defaults',
      { type: 'object', default: {}, required: ['n'], properties: { n: { type: 'integer', default: 1 } } },
    ],
  ])('of %s is structural', (_, schema) => {
    expect(ofSchema(schema)).toEqual([]);
  });

  it('describes nothing of metadata except the name', () => {
    const definition = boards({ type: 'object' });
    const schema = definition.spec.versions[0]!.schema!.openAPIV3Schema!;
    schema.properties!.metadata = { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } };
    expect(texts(definition)).toEqual([]);
    schema.properties!.metadata = { type: 'object', properties: { labels: { type: 'object' } } };
    expect(texts(definition)).toEqual([
      `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
    ]);
  });

  it('has an object at its root', () => {
    expect(
      changed((d) => {
        d.spec.versions[0]!.schema!.openAPIV3Schema = { type: 'array', items: { type: 'string' } };
      }),
    ).toEqual([`${root}.type: Invalid value: "array": must be object at the root`]);
  });

  it('has a bounded depth', () => {
    let deep: SchemaProps = { type: 'string' };
    for (let level = 0; level < 200; level++) deep = { type: 'object', properties: { x: deep } };
    expect(ofSchema(deep)).toEqual([expect.stringContaining('must not be nested more than 100 levels deep')]);
  });
});

describe('a CEL rule', () => {
  const rule = `${x}.x-kubernetes-validations[0]`;
  const withRule = (
    validation: object,
    schema: SchemaProps = { type: 'object', properties: { n: { type: 'integer' } } },
  ) => ofSchema({ ...schema, 'x-kubernetes-validations': [{ rule: 'true', ...validation }] });

  it.each<[object, string]>([
    [{ rule: 'self.m > 1' }, `${rule}.rule: Invalid value: "self.m > 1": compilation failed: no such key: m`],
    [{ rule: 'self.n' }, `${rule}.rule: Invalid value: "self.n": compilation failed: must be of type bool, is int`],
    [{ rule: ' ' }, `${rule}.rule: Required value: rule is not specified`],
    [
      { rule: 'self.n\n > 1' },
      `${rule}.message: Required value: message must be specified if rule contains line breaks`,
    ],
    [
      { rule: 'self.n > 1', optionalOldSelf: true },
      `${rule}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ],
    [
      { messageExpression: '1' },
      `${rule}.messageExpression: Invalid value: "1": messageExpression compilation failed: must be of type string, is int`,
    ],
    [{ fieldPath: '.m' }, `${rule}.fieldPath: Invalid value: ".m": fieldPath must be a valid path, such as .spec.name`],
    [
      { reason: 'Because' },
      `${rule}.reason: Unsupported value: "Because": supported values: "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"`,
    ],
  ])('%j is refused', (validation, message) => {
    expect(withRule(validation)).toEqual([message]);
  });

  it('may read the fields of an optional old value, and no unknown fields', () => {
    const old = '!oldSelf.hasValue() || oldSelf.value().n <= self.n';
    expect(withRule({ rule: old, optionalOldSelf: true })).toEqual([]);
    const open: SchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(withRule({ rule: 'self.m == 1' }, open)).toEqual([
      `${rule}.rule: Invalid value: "self.m == 1": compilation failed: no such key: m`,
    ]);
    expect(withRule({ rule: 'self == oldSelf' }, open)).toEqual([]);
  });

  it('cannot read the old value below an atomic list, and can below a list of type map', () => {
    const validations = [{ rule: 'self == oldSelf' }];
    const items: SchemaProps = {
      type: 'object',
      required: ['k'],
      properties: { k: { type: 'string', maxLength: 9, 'x-kubernetes-validations': validations } },
    };
    expect(ofSchema({ type: 'array', maxItems: 9, items })).toEqual([
      `${x}.items.properties[k].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${x}`,
    ]);
    expect(
      ofSchema({
        type: 'array',
        maxItems: 9,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items,
      }),
    ).toEqual([]);
  });
});

describe('an established definition', () => {
  it('keeps its scope and kind', () => {
    const old = boards({ type: 'object' });
    old.status = {
      conditions: [{ type: 'Established', status: 'True', reason: '', message: '', lastTransitionTime: '' }],
    };
    const next = structuredClone(old);
    next.spec.scope = 'Cluster';
    next.spec.names.kind = 'Plank';
    expect(texts(next, old)).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Plank": field is immutable',
    ]);
  });

  it('keeps every version that was stored', () => {
    const old = boards({ type: 'object' });
    old.status = { storedVersions: ['v0', 'v1'] };
    expect(texts(boards({ type: 'object' }), old)).toEqual([
      'status.storedVersions[0]: Invalid value: "v0": must appear in spec.versions',
    ]);
  });
});

describe('a space', () => {
  it('refuses a wrong definition as a whole, with causes', () => {
    const { space } = testSpace();
    const wrong = boards({ type: 'object', properties: { x: { type: 'string', pattern: '(' } } });
    const error = refusal(() => space.create(wrong));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(
      'CustomResourceDefinition.apiextensions.k8s.io "boards.shop.example.com" is invalid: spec.versions[0]',
    );
    expect(error.details.causes).toHaveLength(1);
  });

  it('fills in singular, listKind and conversion', () => {
    const { space } = testSpace();
    const plain = boards({ type: 'object' });
    plain.spec.names = { plural: 'boards', kind: 'Board' };
    expect(space.create(plain).spec).toMatchObject({
      names: { singular: 'board', listKind: 'BoardList' },
      conversion: { strategy: 'None' },
    });
  });

  it('leaves fields of the wrong type to the validation of types', () => {
    const { space } = testSpace();
    const wrong = { ...boards({ type: 'object' }), spec: { group: 'x.y', versions: 'none' } };
    expect(['Invalid', 'BadRequest']).toContain(refusal(() => space.create(wrong)).code);
  });
});

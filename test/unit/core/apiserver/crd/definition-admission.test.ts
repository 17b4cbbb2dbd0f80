import { describe, expect, it } from 'vitest';
import type {
  CustomResourceDefinition,
  DefinitionVersion,
  SchemaProps,
} from '../../../../../core/apiserver/crd/definition.ts';
import { checkDefinition } from '../../../../../core/apiserver/crd/definition-admission.ts';
import { refusal, testSpace } from '../kinds/space-support.ts';
import { boards } from './support.ts';

const root = 'spec.validation.openAPIV3Schema';
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const x = `${root}.properties[spec].properties[x]`;

/** A version in a message. */
function shown(isStorage: boolean): string {
  const rest =
    '"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null';
  return `{"Name":"v1","Served":true,"Storage":${isStorage},${rest}}`;
}

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

  it.each<[string, (definition: CustomResourceDefinition) => void, ...string[]]>([
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
      `spec.names.kind: Invalid value: "My Board": may have mixed case, but should otherwise match: ${label}`,
    ],
    [
      'no version',
      (d) => {
        d.spec.versions = [];
      },
      'spec.versions: Invalid value: []: must have exactly one version marked as storage version',
      'status.storedVersions: Invalid value: null: must have at least one stored version',
    ],
    [
      'no stored version',
      (d) => {
        d.spec.versions[0]!.storage = false;
      },
      `spec.versions: Invalid value: [${shown(false)}]: must have exactly one version marked as storage version`,
      'status.storedVersions: Invalid value: null: must have at least one stored version',
    ],
    [
      'a version twice',
      (d) => {
        d.spec.versions.push({ ...d.spec.versions[0]!, storage: false });
      },
      `spec.versions: Invalid value: [${shown(true)},${shown(false)}]: must contain unique version names`,
    ],
    [
      'no schema',
      (d) => {
        delete d.spec.versions[0]!.schema;
      },
      'spec.versions[0].schema.openAPIV3Schema: Required value',
    ],
    [
      'a conversion by webhook without a webhook',
      (d) => {
        d.spec.conversion = { strategy: 'Webhook' };
      },
      'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
      'spec.conversion.conversionReviewVersions: Required value',
    ],
    [
      'a webhook at two places',
      (d) => {
        const clientConfig = { url: 'https://hook.example.com/', service: { name: 'hook', namespace: 'net-system' } };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      'spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required',
    ],
    [
      'a webhook that no API server understands',
      (d) => {
        const clientConfig = { url: 'https://hook.example.com/' };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v9'] } };
      },
      'spec.conversion.conversionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
    ],
    [
      'a webhook without encryption',
      (d) => {
        const clientConfig = { url: 'http://hook.example.com/' };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      'spec.conversion.webhookClientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
    ],
    [
      'a webhook of an unnamed service',
      (d) => {
        const clientConfig = { service: { name: 'hook' } };
        d.spec.conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } };
      },
      // The real API server exchanges the two fields.
      'spec.conversion.webhookClientConfig.service.name: Required value',
    ],
    [
      'a group of the Kubernetes project without a note about the approval',
      (d) => {
        d.spec.group = 'shop.k8s.io';
        d.metadata.name = 'boards.shop.k8s.io';
      },
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ])('with %s is refused', (_, change, ...messages) => {
    expect(changed(change)).toEqual(messages);
  });

  it.each<[string, Partial<DefinitionVersion>, string]>([
    [
      'a column of no type',
      { additionalPrinterColumns: [{ name: 'A', type: 'colour', jsonPath: '.spec.a' }] },
      'additionalPrinterColumns[0].type: Invalid value: "colour": must be one of boolean,date,integer,number,string',
    ],
    [
      'a scale outside of spec',
      { subresources: { scale: { specReplicasPath: '.status.n', statusReplicasPath: '.status.n' } } },
      'subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
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
    expect(ofVersion(more)).toEqual([`spec.${message}`]);
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
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } },
      `${x}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    [
      'with a type in a junctor',
      { type: 'string', anyOf: [{ type: 'string' }] },
      `${x}.anyOf[0].type: Forbidden: must be empty to be structural`,
    ],
    [
      'with a field that JSON Schema has and Kubernetes has not',
      { type: 'object', dependencies: { a: ['b'] } } as SchemaProps,
      `${x}.dependencies: Forbidden: dependencies is not supported`,
    ],
    [
      'of a map list with a key twice',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a', 'a'],
        items: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      },
      `${x}.x-kubernetes-list-map-keys: Invalid value: ["a","a"]: must not contain duplicate entries`,
    ],
    [
      'with a default whose own field has a default',
      { type: 'object', default: {}, required: ['n'], properties: { n: { type: 'integer', default: 1 } } },
      `${x}.default.n: Required value`,
    ],
    [
      'with a default that breaks a rule',
      { type: 'string', maxLength: 9, default: 'a', 'x-kubernetes-validations': [{ rule: "self == 'b'" }] },
      `${x}.default: Invalid value: "string": failed rule: self == 'b'`,
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
      `${x}.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
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
      `${x}.default: Invalid value: {"a":1}: must not have unknown fields`,
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
      { type: 'object', default: {}, properties: { n: { type: 'integer', default: 1 } } },
    ],
    ['no fields at all', { type: 'object', additionalProperties: false }],
    ['int-or-string and a type', { type: 'string', 'x-kubernetes-int-or-string': true }],
    [
      'a property in a junctor only, below the root',
      { type: 'object', properties: { b: { type: 'string' } }, anyOf: [{ properties: { a: {} } }] },
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
  const shownRule = (source: string, message = '') =>
    `{"Rule":"${source}","Message":"","MessageExpression":"${message}","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;
  const withRule = (
    validation: object,
    schema: SchemaProps = { type: 'object', properties: { n: { type: 'integer' } } },
  ) => ofSchema({ ...schema, 'x-kubernetes-validations': [{ rule: 'true', ...validation }] });

  it.each<[object, string]>([
    [
      { rule: 'self.m > 1' },
      `${rule}.rule: Invalid value: ${shownRule('self.m \\u003e 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'm'\n | self.m > 1\n | ....^`,
    ],
    [{ rule: 'self.n' }, `${rule}.rule: Invalid value: ${shownRule('self.n')}: cel expression must evaluate to a bool`],
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
      `${rule}.messageExpression: Invalid value: ${shownRule('true', '1')}: messageExpression must evaluate to a string`,
    ],
    [{ fieldPath: '.m' }, `${rule}.fieldPath: Invalid value: ".m": must be a valid path`],
    [
      { reason: 'Because' },
      `${rule}.reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
  ])('%j is refused', (validation, message) => {
    expect(withRule(validation)).toEqual([message]);
  });

  it('may read the fields of an optional old value, and no unknown fields', () => {
    const old = '!oldSelf.hasValue() || oldSelf.value().n <= self.n';
    expect(withRule({ rule: old, optionalOldSelf: true })).toEqual([]);
    const open: SchemaProps = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    expect(withRule({ rule: 'self.m == 1' }, open)).toEqual([
      `${rule}.rule: Invalid value: ${shownRule('self.m == 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'm'\n | self.m == 1\n | ....^`,
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
      'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions',
    ]);
  });
});

describe('a definition that an earlier build has stored', () => {
  const nullable: SchemaProps = {
    type: 'array',
    'x-kubernetes-list-type': 'set',
    items: { type: 'string', nullable: true },
  };

  it('may keep a mistake, and may not get another one', () => {
    const old = boards({ type: 'object', properties: { x: nullable } });
    const next = structuredClone(old);
    next.spec.names.shortNames = ['bd'];
    expect(texts(next, old)).toEqual([]);
    const properties = next.spec.versions[0]!.schema!.openAPIV3Schema!.properties!.spec!.properties!;
    properties.y = nullable;
    properties.z = { type: 'string', maxLength: 9, 'x-kubernetes-validations': [{ rule: 'self' }] };
    expect(texts(next, old)).toEqual([
      `${root}.properties[spec].properties[y].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set`,
      expect.stringContaining(`${root}.properties[spec].properties[z].x-kubernetes-validations[0].rule: Invalid value`),
    ]);
  });
});

describe('the field of a mistake', () => {
  it('is a field of the version if versions differ in this part', () => {
    const definition = boards({ type: 'object' });
    const [v1] = definition.spec.versions;
    const columns = [{ name: 'A', type: 'string', jsonPath: 'a' }];
    definition.spec.versions.push({
      ...structuredClone(v1!),
      name: 'v2',
      storage: false,
      additionalPrinterColumns: columns,
    });
    const why = 'Invalid value: "a": must be a simple json path starting with .';
    expect(texts(definition)).toEqual([`spec.versions[1].additionalPrinterColumns[0].JSONPath: ${why}`]);
    v1!.additionalPrinterColumns = columns;
    expect(texts(definition)).toEqual([`spec.additionalPrinterColumns[0].JSONPath: ${why}`]);
  });
});

describe('a space', () => {
  it('refuses a wrong definition as a whole, with causes', () => {
    const { space } = testSpace();
    const wrong = boards({ type: 'object', properties: { x: { type: 'string', pattern: '(' } } });
    const error = refusal(() => space.create(wrong));
    expect(error.code).toBe('Invalid');
    expect(error.message).toContain(
      'CustomResourceDefinition.apiextensions.k8s.io "boards.shop.example.com" is invalid: spec.validation.openAPIV3Schema',
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

  it('reads nulls in lists as empty values', () => {
    const { space } = testSpace();
    const items = { type: 'string', allOf: [null], 'x-kubernetes-validations': [null] } as unknown as SchemaProps;
    const wrong = boards({ type: 'array', items }, { selectableFields: [null as never] });
    wrong.spec.names.shortNames = [null as never];
    expect(refusal(() => space.create(wrong)).details.causes).toMatchObject([
      { field: 'spec.names.shortNames[0]', reason: 'FieldValueInvalid' },
      { field: `${root}.properties[spec].items.x-kubernetes-validations[0].rule`, reason: 'FieldValueRequired' },
      { field: 'spec.selectableFields[0].jsonPath', reason: 'FieldValueRequired' },
    ]);
  });

  it.each([
    { type: 'array', items: { type: 'string', required: 'x' } },
    { type: 'object', additionalProperties: { type: 'string', allOf: 'x' } },
    { type: 'object', additionalProperties: 3 },
    { type: 'array', items: { type: 'object', additionalProperties: { type: 'string', nullable: 'x' } } },
  ])('refuses values of the wrong type everywhere in a schema: %j', (schema) => {
    const { space } = testSpace();
    expect(refusal(() => space.create(boards(schema as unknown as SchemaProps))).code).toBe('BadRequest');
  });

  it('leaves fields of the wrong type to the validation of types', () => {
    const { space } = testSpace();
    const wrong = { ...boards({ type: 'object' }), spec: { group: 'x.y', versions: 'none' } };
    expect(['Invalid', 'BadRequest']).toContain(refusal(() => space.create(wrong)).code);
  });
});

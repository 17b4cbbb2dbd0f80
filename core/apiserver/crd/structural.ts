/**
 * Checks that a schema is structural. In a structural schema, every node outside of allOf, anyOf, oneOf and not has a type. The nodes inside of these may
 * only have fields that the nodes outside have too. The server needs this to remove unknown fields, to fill in defaults, and to record the owner of each
 * field. The checks also make sure that the schema can be compiled without errors.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */

import { compilePattern } from '../../match/cel/base/pattern.ts';
import type { CelType } from '../../match/cel/cel.ts';
import { CelError } from '../../match/cel/cel-error.ts';
import { forbiddenField, invalidField, notSupported, required } from '../../object/field-error.ts';
import { equalJson } from '../../object/json-value.ts';
import { type Cause, describeError } from '../../runtime/errors.ts';
import { isRecord } from '../../runtime/is-record.ts';
import { checkCosts } from './cel-cost.ts';
import { compileRule } from './cel-rules.ts';
import { celType } from './cel-schema.ts';
import type { SchemaProps, ValidationRule } from './definition.ts';
import { compilePrepare } from './prepare.ts';
import { compileCheck } from './validate.ts';

/** Bounds the stack, because code goes through schemas and objects by recursion. */
const depthMax = 100;
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const reasons = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'FieldValueDuplicate'];

interface SchemaPlace {
  readonly field: string;
  readonly depth: number;
  readonly isRoot: boolean;
  /** The field of the list that makes it impossible to find the old value of a new value (cel-rules.ts). Absent: every new value can have an old value. */
  readonly uncorrelatable?: string;
  /** Gets the mistakes in CEL rules. A mistake there hides no mistake in the costs of other rules. */
  readonly ruleCauses: Cause[];
}

/** `old`: the schema that the version has now. As in Kubernetes, the costs of its rules do not count if it stays as it is. */
export function checkStructural(schema: SchemaProps, field: string, old?: SchemaProps): Cause[] {
  const causes: Cause[] = [];
  const ruleCauses: Cause[] = [];
  walk(schema, { field, depth: 0, isRoot: true, ruleCauses }, causes, 'must not be empty at the root');
  if (causes.length > 0) return [...causes, ...ruleCauses];
  checkDefaults(schema, field, causes);
  const costs = old && equalJson(schema, old) ? [] : checkCosts(schema, field);
  return [...causes, ...ruleCauses, ...costs];
}

function walk(schema: SchemaProps, place: SchemaPlace, causes: Cause[], whyType: string): void {
  const { field } = place;
  if (place.depth > depthMax) {
    causes.push(forbiddenField(field, `must not be nested more than ${depthMax} levels deep`));
    return;
  }
  checkType(schema, place, causes, whyType);
  checkValueRules(schema, field, causes);
  checkExtensions(schema, place, causes);
  checkList(schema, field, causes);
  checkJunctors(schema, schema, field, causes);
  checkValidations(schema, place, causes);
  const below = { depth: place.depth + 1, isRoot: false, ruleCauses: place.ruleCauses };
  const within = place.uncorrelatable === undefined ? {} : { uncorrelatable: place.uncorrelatable };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const child = { ...below, ...within, field: `${field}.properties[${name}]` };
    if (place.isRoot && name === 'metadata') checkMetadata(property, child.field, causes);
    else walk(property, child, causes, 'must not be empty for specified object fields');
  }
  if (isRecord(schema.additionalProperties)) {
    const child = { ...below, ...within, field: `${field}.additionalProperties` };
    walk(schema.additionalProperties as SchemaProps, child, causes, 'must not be empty for specified object fields');
  }
  if (schema.items) {
    const isFound = schema['x-kubernetes-list-type'] === 'map';
    const child = { ...below, ...within, ...(isFound ? {} : { uncorrelatable: field }), field: `${field}.items` };
    walk(schema.items, child, causes, 'must not be empty for specified array items');
  }
}

function checkType(schema: SchemaProps, { field, isRoot }: SchemaPlace, causes: Cause[], why: string): void {
  const { type } = schema;
  const isFree = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields'];
  if (type === undefined || type === '') {
    if (!isFree || isRoot) causes.push(required(`${field}.type`, why));
  } else if (!types.includes(type)) {
    causes.push(notSupported(`${field}.type`, type, types));
  } else if (isRoot && type !== 'object') {
    causes.push(invalidField(`${field}.type`, type, 'must be object at the root'));
  }
  if (isRoot && schema.nullable)
    causes.push(forbiddenField(`${field}.nullable`, 'nullable cannot be true at the root'));
  if (type === 'array' && !schema.items) causes.push(required(`${field}.items`, 'must be specified'));
  if (schema.additionalProperties === false) {
    causes.push(forbiddenField(`${field}.additionalProperties`, 'additionalProperties cannot be set to false'));
  } else if (schema.additionalProperties !== undefined && schema.properties) {
    causes.push(
      forbiddenField(`${field}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    );
  }
}

function checkValueRules(schema: SchemaProps, field: string, causes: Cause[]): void {
  if (schema.uniqueItems) {
    const why = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    causes.push(forbiddenField(`${field}.uniqueItems`, why));
  }
  if (schema.pattern !== undefined) {
    try {
      compilePattern(schema.pattern);
    } catch (error) {
      const why = `must be a valid regular expression, but isn't: ${describeError(error)}`;
      causes.push(invalidField(`${field}.pattern`, schema.pattern, why));
    }
  }
  if (schema.multipleOf !== undefined && schema.multipleOf <= 0) {
    causes.push(invalidField(`${field}.multipleOf`, schema.multipleOf, 'must be greater than 0'));
  }
}

function checkExtensions(schema: SchemaProps, { field, isRoot }: SchemaPlace, causes: Cause[]): void {
  const { type } = schema;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(invalidField(`${field}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  if (schema['x-kubernetes-embedded-resource']) {
    if (type !== 'object')
      causes.push(
        invalidField(`${field}.type`, type ?? '', 'must be object if x-kubernetes-embedded-resource is true'),
      );
    if (isRoot) causes.push(forbiddenField(`${field}.x-kubernetes-embedded-resource`, 'must not be set at the root'));
    if (!schema.properties && !schema['x-kubernetes-preserve-unknown-fields']) {
      const why =
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
      causes.push(required(`${field}.properties`, why));
    }
  }
  if (schema['x-kubernetes-int-or-string'] && type) {
    causes.push(invalidField(`${field}.type`, type, 'must be empty if x-kubernetes-int-or-string is true'));
  }
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType !== undefined && !['atomic', 'granular'].includes(mapType)) {
    causes.push(notSupported(`${field}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
  if (mapType !== undefined && type !== 'object') {
    causes.push(invalidField(`${field}.type`, type ?? '', 'must be object if x-kubernetes-map-type is specified'));
  }
}

function checkList(schema: SchemaProps, field: string, causes: Cause[]): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'];
  if (listType === undefined) {
    if (keys?.length)
      causes.push(
        required(`${field}.x-kubernetes-list-type`, 'must be map if x-kubernetes-list-map-keys is non-empty'),
      );
    return;
  }
  if (!['atomic', 'set', 'map'].includes(listType)) {
    causes.push(notSupported(`${field}.x-kubernetes-list-type`, listType, ['atomic', 'map', 'set']));
  }
  if (schema.type !== 'array') {
    causes.push(
      invalidField(`${field}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'),
    );
    return;
  }
  const items = schema.items ?? {};
  if (listType === 'set' && isGranular(items)) {
    causes.push(
      invalidField(`${field}.items`, items.type ?? '', 'items of x-kubernetes-list-type set must be scalar or atomic'),
    );
  }
  if (listType === 'map') checkMapKeys(items, keys ?? [], field, causes);
}

function isGranular(items: SchemaProps): boolean {
  if (items.type === 'object') return items['x-kubernetes-map-type'] !== 'atomic';
  return items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic';
}

function checkMapKeys(items: SchemaProps, keys: readonly string[], field: string, causes: Cause[]): void {
  if (keys.length === 0) {
    causes.push(required(`${field}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
  }
  if (items.type !== 'object') {
    causes.push(
      invalidField(
        `${field}.items.type`,
        items.type ?? '',
        'must be object if parent array has x-kubernetes-list-type map',
      ),
    );
    return;
  }
  for (const [index, key] of keys.entries()) {
    const property = items.properties?.[key];
    if (!property) {
      const at = `${field}.x-kubernetes-list-map-keys[${index}]`;
      causes.push(invalidField(at, key, 'entries must all be names of item properties'));
    } else if (property.type === 'object' || property.type === 'array') {
      const at = `${field}.items.properties[${key}].type`;
      causes.push(
        invalidField(at, property.type, 'must be a scalar type if parent array has x-kubernetes-list-type map'),
      );
    } else if (property.default === undefined && !items.required?.includes(key)) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
      causes.push(required(`${field}.items.properties[${key}].default`, why));
    }
  }
}

/** The server defines metadata. A schema may restrict only name and generateName. */
function checkMetadata(schema: SchemaProps, field: string, causes: Cause[]): void {
  const names = Object.keys(schema.properties ?? {});
  const isPlain = Object.keys(schema).every((key) => ['type', 'properties', 'description'].includes(key));
  if (isPlain && names.every((name) => name === 'name' || name === 'generateName')) return;
  causes.push(
    forbiddenField(
      field,
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    ),
  );
}

// ------------------------------------------------------------------------------- allOf, anyOf, oneOf, not

/** Fields that a junctor (allOf, anyOf, oneOf, not) must not have. These fields define a value, but a junctor may only check it. */
const outsideOnly = [
  'type',
  'default',
  'additionalProperties',
  'nullable',
  'title',
  'description',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const;

/** Checks the junctors of `schema`. `outside` is the node outside of all junctors to which they apply. */
function checkJunctors(schema: SchemaProps, outside: SchemaProps, field: string, causes: Cause[]): void {
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const) {
    for (const [index, part] of (schema[name] ?? []).entries())
      checkJunctor(part, outside, `${field}.${name}[${index}]`, causes);
  }
  if (schema.not) checkJunctor(schema.not, outside, `${field}.not`, causes);
}

function checkJunctor(part: SchemaProps, outside: SchemaProps, field: string, causes: Cause[]): void {
  for (const name of outsideOnly) {
    if (part[name] === undefined || (name === 'type' && outside['x-kubernetes-int-or-string'])) continue;
    causes.push(forbiddenField(`${field}.${name}`, 'must be empty to be structural'));
  }
  checkValueRules(part, field, causes);
  checkJunctors(part, outside, field, causes);
  for (const [name, property] of Object.entries(part.properties ?? {})) {
    const at = `${field}.properties[${name}]`;
    const counterpart = outside.properties?.[name];
    if (counterpart) checkJunctor(property, counterpart, at, causes);
    else if (!isRecord(outside.additionalProperties))
      causes.push(required(at, 'must be specified outside of the junctor too'));
  }
  if (!part.items) return;
  if (outside.items) checkJunctor(part.items, outside.items, `${field}.items`, causes);
  else causes.push(required(`${field}.items`, 'must be specified outside of the junctor too'));
}

// --------------------------------------------------------------------------------------------------- rules

function checkValidations(schema: SchemaProps, place: SchemaPlace, causes: Cause[]): void {
  const rules = schema['x-kubernetes-validations'];
  if (!rules?.length) return;
  const self = celType(schema, place.isRoot || schema['x-kubernetes-embedded-resource'] === true);
  for (const [index, rule] of rules.entries()) {
    const field = `${place.field}.x-kubernetes-validations[${index}]`;
    if (rule.reason !== undefined && !reasons.includes(rule.reason)) {
      causes.push(notSupported(`${field}.reason`, rule.reason, reasons));
    }
    if (rule.message !== undefined && rule.message.trim() === '') {
      causes.push(invalidField(`${field}.message`, rule.message, 'message must be non-empty if specified'));
    }
    if (rule.rule?.trim().includes('\n') && !rule.message?.trim()) {
      causes.push(required(`${field}.message`, 'message must be specified if rule contains line breaks'));
    }
    if (rule.fieldPath !== undefined && !isFieldOf(schema, rule.fieldPath)) {
      causes.push(
        invalidField(`${field}.fieldPath`, rule.fieldPath, 'fieldPath must be a valid path, such as .spec.name'),
      );
    }
    if (!rule.rule?.trim()) causes.push(required(`${field}.rule`, 'rule is not specified'));
    else checkRule(rule, self, place, field);
  }
}

function checkRule(rule: ValidationRule, self: CelType, place: SchemaPlace, field: string): void {
  try {
    compileRule({ rule: rule.rule, ...(rule.optionalOldSelf ? { optionalOldSelf: true } : {}) }, self);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    place.ruleCauses.push(invalidField(`${field}.rule`, rule.rule, `compilation failed: ${error.message}`));
    return;
  }
  try {
    const { isTransition } = compileRule(rule, self);
    if (!isTransition && rule.optionalOldSelf !== undefined) {
      const why = 'may not be set if oldSelf is not used in rule';
      place.ruleCauses.push(invalidField(`${field}.optionalOldSelf`, rule.optionalOldSelf, why));
    }
    if (!isTransition || place.uncorrelatable === undefined) return;
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelatable}`;
    place.ruleCauses.push(invalidField(`${field}.rule`, rule.rule, why));
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const why = `messageExpression compilation failed: ${error.message}`;
    place.ruleCauses.push(invalidField(`${field}.messageExpression`, rule.messageExpression, why));
  }
}

/** True if the path leads through properties only, for example `.a.b` or `.a['b.c']`. */
function isFieldOf(schema: SchemaProps, path: string): boolean {
  if (!/^(?:\.[A-Za-z_][\w-]*|\['[^']+'\])+$/.test(path)) return false;
  let at: SchemaProps | undefined = schema;
  for (const [, plain, quoted] of path.matchAll(/\.([A-Za-z_][\w-]*)|\['([^']+)'\]/g)) {
    const name: string = plain ?? quoted ?? '';
    at =
      at.properties?.[name] ??
      (isRecord(at.additionalProperties) ? (at.additionalProperties as SchemaProps) : undefined);
    if (!at) return false;
  }
  return true;
}

// ------------------------------------------------------------------------------------------------ defaults

/** A default must be valid, because nobody checks it when the server writes it into an object. */
function checkDefaults(schema: SchemaProps, field: string, causes: Cause[]): void {
  if (schema.default !== undefined) checkDefault(schema, field, causes);
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    checkDefaults(property, `${field}.properties[${name}]`, causes);
  if (isRecord(schema.additionalProperties))
    checkDefaults(schema.additionalProperties as SchemaProps, `${field}.additionalProperties`, causes);
  if (schema.items) checkDefaults(schema.items, `${field}.items`, causes);
}

function checkDefault(schema: SchemaProps, field: string, causes: Cause[]): void {
  // Puts the default into a property of an object and prepares it there. So the defaults of the inner fields are filled in, as in a real object.
  const holder = { value: structuredClone(schema.default) };
  const around: SchemaProps = { type: 'object', properties: { value: schema } };
  const unknown = compilePrepare(around)(holder);
  if (unknown.length > 0) {
    causes.push(
      invalidField(
        `${field}.default`,
        schema.default,
        `must not have unknown fields: ${unknown.map((path) => path.replace(/^value\.?/, '')).join(', ')}`,
      ),
    );
  }
  const found: Cause[] = [];
  compileCheck(schema)(holder.value, [], found);
  for (const cause of found) {
    const at = cause.field === '' ? '' : `.${cause.field}`;
    causes.push({ ...cause, field: `${field}.default${at}` });
  }
}

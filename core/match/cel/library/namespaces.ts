/**
 * Functions with a qualified name, such as `sets.contains`. The language has no namespaces: the parser sees a call of `contains` on a variable `sets`. So each
 * namespace is a constant with a name that no expression can have, and `namespaceOf` tells which calls mean it. As in cel-go, the qualified name of a function
 * hides a variable of this name in such calls only.
 */
import type { Environment } from '@marcbachmann/cel-js';

const functions: Readonly<Record<string, readonly string[]>> = {
  sets: ['contains', 'equivalent', 'intersects'],
  strings: ['quote'],
  ip: ['isCanonical'],
  format: [
    'named',
    'dns1123Label',
    'dns1123LabelPrefix',
    'dns1123Subdomain',
    'dns1123SubdomainPrefix',
    'dns1035Label',
    'dns1035LabelPrefix',
    'qualifiedName',
    'labelValue',
    'uri',
    'uuid',
    'byte',
    'date',
    'datetime',
  ],
};

/** The type of the constant that stands for a namespace, for signatures: `namespace('sets')`. */
export function namespace(name: string): string {
  return `namespace.${name}`;
}

/** The name of the constant for the namespace, if a call of `method` on the variable `name` means a function of it. */
export function namespaceOf(name: string, method: string): string | undefined {
  return Object.hasOwn(functions, name) && functions[name]!.includes(method) ? constantOf(name) : undefined;
}

/** Declares the namespaces. Call it before their functions are declared. */
export function addNamespaces(environment: Environment): void {
  for (const name of Object.keys(functions)) {
    const Constant = class {};
    environment.registerType(namespace(name), Constant);
    environment.registerConstant(constantOf(name), namespace(name), new Constant());
  }
}

function constantOf(name: string): string {
  return `@${name}`;
}

/** Questions about the copies of the objects of a space above. */
export const fleetKind = 'fleet';

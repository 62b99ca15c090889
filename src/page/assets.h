/* What each page carries: its style, and the few lines that sort tables and read curves
 * under the pointer. Without the script everything is there, too. */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

enum { PAGE_COLOURS = 8 }; /* classes c0 .. c7 of curves, which then repeat */

extern const char page_style[], page_script[];

#endif
